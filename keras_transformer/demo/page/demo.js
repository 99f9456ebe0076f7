/* The page: takes text, asks the server, and leaves the drawing to results.js. */
import { showAnswer, showExamples, showInfo } from "./results.js";

const PAUSE = 500; // milliseconds without a key before a text is translated
const PATIENCE = 3000; // milliseconds before the wait is explained
const LONG_WAIT =
  "Still translating… The first sentence of a length takes some seconds, while the " +
  "model is compiled.";
const GONE =
  "The server does not answer. If it was stopped, start it again, then press Translate.";

const page = Object.fromEntries(
  [...document.querySelectorAll("[id]")].map((element) => [element.id, element]),
);
let info = null;
let timer = 0;
let asked = new AbortController(); // the last text's requests
let looked = new AbortController(); // the last attention's

async function ask(path, question, signal) {
  const options = { signal };
  if (question) {
    options.method = "POST";
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(question);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : new Error(GONE);
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new Error(answer.detail ?? `The server answered with status ${response.status}.`);
}

/* Ask once what the model is. */
async function start() {
  if (info) return;
  info = await ask("api/info");
  showInfo(page, info);
  showExamples(page, info.examples, (text) => {
    page.source.value = text;
    translate();
  });
  count();
}

/* Show the text's length; return what is wrong with it, or a blank string. */
function count() {
  if (!info) return "";
  const most = info.max_characters;
  const length = [...page.source.value].length; // code points, as the server counts
  const [shown, limit] = [length, most].map((number) => number.toLocaleString("en"));
  page.count.textContent = `${shown} / ${limit} characters`;
  page.count.classList.toggle("too-many", length > most);
  if (length <= most) return "";
  return `The text has ${shown} characters. At most ${limit} are translated at a time.`;
}

/* Translate what stands in the field now. An earlier request is given up. */
async function translate() {
  clearTimeout(timer);
  asked.abort();
  looked.abort();
  asked = new AbortController();
  const { signal } = asked;
  page.error.textContent = "";
  wait(Boolean(page.source.value.trim()));
  const patience = setTimeout(() => {
    page.status.textContent = LONG_WAIT;
  }, PATIENCE);
  let answer = { lines: [] };
  let problem = "";
  try {
    await start();
    const text = page.source.value;
    problem = count();
    if (!problem && text.trim()) answer = await ask("api/translate", { text }, signal);
  } catch (error) {
    problem = error.message;
  } finally {
    clearTimeout(patience);
  }
  if (signal.aborted) return; // a later text took its place
  wait(false);
  showAnswer(page, answer, look);
  page.error.textContent = problem;
}

function wait(waiting) {
  page.status.textContent = waiting ? "Translating…" : "";
  for (const part of [page.translation, page.choices, page.attention]) {
    part.setAttribute("aria-busy", String(waiting));
  }
}

/* Show the attention between a line and one of its translations. */
async function look(source, target) {
  looked.abort();
  looked = new AbortController();
  const { signal } = looked;
  if (!info.attention) {
    page["attention-status"].textContent =
      `This model, a ${info.model}, gives no attention maps: only a Transformer does.`;
    return;
  }
  page["attention-status"].textContent = "Computing the attention maps…";
  page.attention.setAttribute("aria-busy", "true");
  try {
    const data = await ask("api/attention", { source, target }, signal);
    if (signal.aborted) return;
    showAttention(page.viewer, data);
    page["attention-status"].textContent = "";
  } catch (error) {
    if (signal.aborted) return;
    page.viewer.replaceChildren();
    page["attention-status"].textContent = error.message;
  }
  page.attention.setAttribute("aria-busy", "false");
}

function changed() {
  clearTimeout(timer);
  count();
  timer = setTimeout(translate, PAUSE);
}

page.source.addEventListener("input", (event) => {
  if (!event.isComposing) changed();
});
page.source.addEventListener("compositionend", changed);
page.source.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    translate();
  }
});
page.form.addEventListener("submit", (event) => {
  event.preventDefault();
  translate();
});
/* A browser may have kept a text over a reload; without one this asks for the model. */
translate();
