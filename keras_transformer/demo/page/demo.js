/* The page: takes text, asks the server, and leaves the drawing to results.js. */
import { showAnswer, showExamples, showInfo } from "./results.js";

const PAUSE = 500; // milliseconds without a key before a text is translated
const PATIENCE = 3000; // milliseconds before the wait is explained
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
  throw new Error(answer.detail || `The server answered with status ${response.status}.`);
}

async function start() {
  try {
    info ??= await ask("api/info");
  } catch (error) {
    page.error.textContent = error.message;
    return false;
  }
  if (!page.examples.hidden || page.count.textContent) return true;
  showInfo(page, info);
  showExamples(page, info.examples, (text) => {
    page.source.value = text;
    translate();
  });
  count();
  return true;
}

function count() {
  const length = [...page.source.value].length; // code points, as the server counts
  const most = info?.max_characters ?? Infinity;
  page.count.textContent = `${length.toLocaleString("en")} / ${most.toLocaleString("en")} characters`;
  page.count.classList.toggle("too-many", length > most);
  return length > most
    ? `The text has ${length.toLocaleString("en")} characters. At most ${most.toLocaleString("en")} are translated at a time.`
    : "";
}

/* Translate what stands in the field now. An earlier request is given up. */
async function translate() {
  clearTimeout(timer);
  asked.abort();
  looked.abort();
  asked = new AbortController();
  const { signal } = asked;
  page.status.textContent = page.error.textContent = "";
  if (!(await start()) || signal.aborted) return;
  const refusal = count();
  const text = page.source.value;
  if (refusal || !text.trim()) {
    page.error.textContent = refusal;
    showAnswer(page, { lines: [] }, look);
    wait(false);
    return;
  }
  wait(true);
  const patience = setTimeout(() => {
    page.status.textContent =
      "Still translating… The first sentence of a length takes some seconds, while the model is compiled.";
  }, PATIENCE);
  try {
    const answer = await ask("api/translate", { text }, signal);
    if (signal.aborted) return;
    wait(false);
    showAnswer(page, answer, look);
  } catch (error) {
    if (signal.aborted) return;
    wait(false);
    showAnswer(page, { lines: [] }, look);
    page.error.textContent = error.message;
  } finally {
    clearTimeout(patience);
  }
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
  page["attention-status"].textContent = "Looking…";
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
if (page.source.value) translate(); // what a browser kept over a reload
else start();
