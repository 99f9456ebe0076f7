/* Draws what the server says. All text goes into the page as text, never as markup. */

function make(tag, name, ...content) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.append(...content);
  return node;
}

/* Text in a language that nobody knows beforehand. */
function foreign(tag, name, text) {
  const node = make(tag, name, text);
  node.dir = "auto";
  return node;
}

export function showInfo(page, info) {
  document.title = page.title.textContent = info.title;
  const size = info.parameters.toLocaleString("en");
  const beams = info.settings.num_beams;
  page.model.textContent =
    `${info.model} of ${size} parameters, ${info.search}` +
    (beams ? ` with ${beams} beams` : "");
  const alpha = info.settings.length_penalty;
  if (alpha !== undefined) {
    page.penalty.replaceChildren("((5 + tokens) / 6)", make("sup", "", String(alpha)));
  }
}

export function showExamples(page, examples, choose) {
  page["example-buttons"].replaceChildren(
    ...examples.map((text) => {
      const button = foreign("button", "example", text);
      button.type = "button";
      button.addEventListener("click", () => choose(text));
      return button;
    }),
  );
  page.examples.hidden = !examples.length;
}

/* Show the translation of each line, and the choice among those of one of them. */
export function showAnswer(page, { lines }, look) {
  page.translation.replaceChildren(...lines.flatMap(translated));
  const chosen = lines.filter((line) => line.translations.length);
  page.choices.hidden = page.attention.hidden = !chosen.length;
  page["line-choice"].hidden = chosen.length < 2;
  page.line.replaceChildren(
    ...chosen.map((line) => {
      const number = lines.indexOf(line) + 1;
      const option = new Option(`${number}: ${line.source}`, number - 1);
      option.dir = "auto";
      return option;
    }),
  );
  page.line.onchange = () => showHypotheses(page, lines[page.line.value], look);
  if (chosen.length) showHypotheses(page, chosen[0], look);
}

function translated(line, index, lines) {
  const which = lines.length > 1 ? `Line ${index + 1}: ` : "";
  const best = line.translations[0];
  const nodes = [];
  if (line.error) nodes.push(make("p", "alert", which + line.error));
  // A blank line stays one, and so does a blank translation.
  else nodes.push(foreign("p", "line", best ? best.text : ""));
  for (const note of line.notes) nodes.push(make("p", "note", which + note));
  if (best && !best.text) {
    nodes.push(make("p", "note", `${which}The model's translation is blank.`));
  }
  return nodes;
}

function showHypotheses(page, line, look) {
  page.hypotheses.replaceChildren(
    ...line.translations.map((hypothesis, index) => {
      const input = make("input");
      input.type = "radio";
      input.name = "hypothesis";
      input.checked = index === 0;
      input.addEventListener("change", () => look(line.source, hypothesis.text));
      return make(
        "label",
        "hypothesis",
        input,
        foreign("span", "text", hypothesis.text || "(blank)"),
        number("normalised score", hypothesis.score.toFixed(3)),
        number("log-probability", hypothesis.log_probability.toFixed(3)),
        number("tokens", hypothesis.tokens),
        ...(hypothesis.finished ? [] : [make("span", "note", "cut at the limit")]),
      );
    }),
  );
  look(line.source, line.translations[0].text);
}

function number(name, value) {
  const shown = String(value).replace("-", "\u2212");
  return make("span", "number", make("span", "faint", name), " ", make("b", "", shown));
}
