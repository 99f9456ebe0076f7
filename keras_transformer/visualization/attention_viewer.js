/* Attention maps to look into: `showAttention(element, data)`.

   `data` is what `attention_data` gives in Python. All text goes into the page as text
   nodes, never as markup. Looks are in attention_viewer.css; the page's `color-scheme`
   chooses between light and dark. */
var showAttention = (() => {
  "use strict";

  const PARTS = {
    encoder: {
      name: "Encoder",
      queries: "Source, each word looking",
      keys: "Source, looked at",
    },
    cross: {
      name: "Cross",
      queries: "Translation, the word predicted and below it the one read before",
      keys: "Source, looked at",
    },
    decoder: {
      name: "Decoder",
      queries: "Translation, the word predicted and below it the one read before",
      keys: "Translation read so far, looked at",
    },
  };
  const HINT =
    "Point at a word, tap it or use the arrow keys: the other line shows where it " +
    "looks, or who looks at it. A click holds the choice, Escape lets it go.";
  const NOTE =
    "A map shows where a head looked: each word's weights sum to one. It does not " +
    "show why the model chose a word: models that translate alike can have different " +
    "maps.";
  const MOST = 5; // words named in the line of text
  const choices = new WeakMap(); // what was last chosen in an element
  let viewers = 0;

  function make(tag, name, ...content) {
    const node = document.createElement(tag);
    if (name) node.className = `attention-${name}`;
    node.append(...content);
    return node;
  }

  /* The text of a token: SentencePiece's sign of a space is shown by the gap before it. */
  function shown(token) {
    const text = token.startsWith("▁") && token.length > 1 ? token.slice(1) : token;
    const invisible = /^[\s\p{C}]*$/u.test(text);
    return invisible ? [...text].map(codePoint).join(" ") || "(empty)" : text;
  }

  function codePoint(character) {
    return "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
  }

  /* "rtl" if most letters are of a script that is written from right to left. */
  function direction(tokens) {
    const words = tokens.filter((token) => !/^<.*>$/.test(token)).join("");
    const right =
      /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/gu;
    const leftwards = (words.match(right) || []).length;
    return 2 * leftwards > (words.match(/\p{L}/gu) || []).length ? "rtl" : "ltr";
  }

  function sides(data, part) {
    const source = { tokens: data.source_tokens };
    const target = { tokens: data.target_tokens };
    if (part === "encoder") return [source, source];
    const queries = { tokens: data.predicted_tokens, after: data.target_tokens };
    return [queries, part === "cross" ? source : target];
  }

  /* The weights (query, key) of a head, or of the mean of all. */
  function weights(data, { part, layer, head }) {
    const heads = data[part][layer];
    if (head !== "mean") return heads[head];
    return heads[0].map((row, i) =>
      row.map((_, j) => heads.reduce((sum, map) => sum + map[i][j], 0) / heads.length),
    );
  }

  class Viewer {
    constructor(element, data) {
      this.data = data;
      this.number = ++viewers;
      this.choice = {
        part: "cross",
        layer: String(data.cross.length - 1),
        head: "mean",
        ...choices.get(element),
      };
      choices.set(element, this.choice);
      this.root = make("div", "viewer");
      this.controls = make("div", "controls");
      this.lines = make("div", "lines");
      this.said = make("p", "said");
      this.said.setAttribute("aria-live", "polite");
      this.table = make("details", "table", make("summary", "", "All weights"));
      this.table.addEventListener("toggle", () => this.showTable());
      this.root.append(
        this.controls,
        make("p", "hint", HINT),
        this.lines,
        this.said,
        make("p", "scale", "0 ", make("span", "bar"), " 1"),
        this.table,
        make("p", "note", NOTE),
      );
      this.root.addEventListener("keydown", (event) => this.onKey(event));
      element.replaceChildren(this.root);
      this.showControls();
      this.showMap();
    }

    showControls() {
      const { part } = this.choice;
      const layers = this.data[part].length;
      const heads = this.data[part][0].length;
      const keep = (name, values, otherwise) => {
        if (!values.includes(this.choice[name])) this.choice[name] = otherwise;
        return values;
      };
      const numbers = (count) => [...Array(count).keys()].map(String);
      this.controls.replaceChildren(
        this.group("Map", "part", Object.keys(PARTS), (name) => PARTS[name].name),
        this.group("Layer", "layer", keep("layer", numbers(layers), `${layers - 1}`)),
        this.group("Head", "head", keep("head", ["mean", ...numbers(heads)], "mean")),
      );
    }

    /* Radio buttons: the browser gives them arrow keys and their names. */
    group(title, name, values, label = (value) => value) {
      const group = make("fieldset", "choice", make("legend", "", title));
      for (const value of values) {
        const input = make("input");
        input.type = "radio";
        input.name = `attention-${this.number}-${name}`;
        input.value = value;
        input.checked = this.choice[name] === value;
        input.addEventListener("change", () => this.choose(name, value));
        group.append(make("label", "option", input, make("span", "", label(value))));
      }
      return group;
    }

    choose(name, value) {
      this.choice[name] = value;
      if (name === "part") {
        this.showControls();
        this.controls.querySelector("input:checked").focus();
      }
      this.showMap(name !== "part");
    }

    showMap(keepWord = false) {
      const { part } = this.choice;
      const before = keepWord ? this.current : { side: 0, index: 0 };
      this.weights = weights(this.data, this.choice);
      this.held = keepWord && this.held;
      if (!keepWord) {
        const [queries, keys] = sides(this.data, part);
        this.words = [this.line(0, queries), this.line(1, keys)];
        this.lines.replaceChildren(
          ...this.words.map((words, side) =>
            make(
              "section",
              "side",
              make("h3", "", PARTS[part][side ? "keys" : "queries"]),
              words[0].parentNode,
            ),
          ),
        );
      }
      this.show(before.side, before.index);
      this.showTable();
    }

    line(side, { tokens, after }) {
      const spaced = tokens.some((token) => token.startsWith("▁"));
      const line = make("div", "line");
      line.dir = direction(tokens);
      line.setAttribute("role", "group");
      line.setAttribute("aria-label", side ? "Words looked at" : "Words looking");
      return tokens.map((token, index) => {
        const word = make("button", "word", make("bdi", "token", shown(token)));
        word.type = "button";
        word.tabIndex = -1;
        const next = tokens[index + 1] ?? "▁";
        if (spaced && !/^▁|^<.*>$/.test(next)) word.classList.add("attention-joins");
        if (after) {
          word.append(make("bdi", "after", shown(after[index])));
          const name = `${shown(token)}, after ${shown(after[index])}`;
          word.setAttribute("aria-label", name);
        }
        word.append(make("span", "value"));
        word.addEventListener("mouseenter", () => this.held || this.show(side, index));
        word.addEventListener("focus", () => this.focused(side, index));
        word.addEventListener("click", () => this.hold(side, index));
        line.append(word);
        return word;
      });
    }

    focused(side, index) {
      if (this.current.side === side && this.current.index === index) return;
      this.held = false;
      this.show(side, index);
    }

    hold(side, index) {
      const same = this.current.side === side && this.current.index === index;
      this.held = !(same && this.held);
      this.show(side, index);
    }

    /* Shade the other line by the weights of a word, and say the largest. */
    show(side, index) {
      this.current = { side, index };
      const other = 1 - side;
      const values = this.words[other].map((_, i) =>
        side ? this.weights[i][index] : this.weights[index][i],
      );
      this.words.forEach((words, own) =>
        words.forEach((word, i) => {
          const chosen = own === side && i === index;
          const value = own === other ? values[i] : 0;
          word.tabIndex = (own === side ? chosen : i === 0) ? 0 : -1;
          word.classList.toggle("attention-chosen", chosen);
          word.setAttribute("aria-pressed", String(chosen && this.held));
          word.style.setProperty("--weight", value.toFixed(3));
          word.lastChild.textContent = value >= 0.005 ? value.toFixed(2) : "";
        }),
      );
      this.say(side, index, values);
    }

    say(side, index, values) {
      const { part, layer, head } = this.choice;
      const places = values.map((value, i) => [value, i]);
      places.sort((a, b) => b[0] - a[0]);
      const quoted = (own, i) => ["“", make("bdi", "", this.text(own, i)), "”"];
      const most = places.filter(([value]) => value >= 0.005).slice(0, MOST);
      const which = head === "mean" ? "mean of heads" : `head ${head}`;
      this.said.replaceChildren(
        `${PARTS[part].name}, layer ${layer}, ${which}: `,
        ...quoted(side, index),
        side ? " is looked at by " : " looks at ",
        ...most.flatMap(([value, i], n) => [
          n ? ", " : "",
          ...quoted(1 - side, i),
          ` ${value.toFixed(2)}`,
        ]),
        most.length ? "." : side ? "nobody." : "nothing.",
      );
    }

    text(side, index) {
      return this.words[side][index].firstChild.textContent;
    }

    showTable() {
      this.table.querySelector("div")?.remove();
      if (!this.table.open) return;
      const cell = (tag, text) => make(tag, "", make("bdi", "", text));
      const table = make("table");
      const head = make("tr", "", make("td"));
      this.words[1].forEach((_, j) => head.append(cell("th", this.text(1, j))));
      table.append(head);
      this.weights.forEach((row, i) => {
        const line = make("tr", "", cell("th", this.text(0, i)));
        for (const value of row) {
          const square = cell("td", value.toFixed(2));
          square.style.setProperty("--weight", value.toFixed(3));
          line.append(square);
        }
        table.append(line);
      });
      const frame = make("div", "frame", table);
      frame.tabIndex = 0; // so that the keyboard can scroll it
      frame.setAttribute("role", "region");
      frame.setAttribute("aria-label", "All weights of this map");
      this.table.append(frame);
    }

    onKey(event) {
      const line = event.target.closest(".attention-line");
      if (event.key === "Escape") {
        this.held = false;
        this.show(this.current.side, this.current.index);
      }
      if (!line || event.ctrlKey || event.altKey || event.metaKey) return;
      const side = this.words[1].includes(event.target) ? 1 : 0;
      const words = this.words[side];
      const index = words.indexOf(event.target);
      const forward = line.dir === "rtl" ? "ArrowLeft" : "ArrowRight";
      const back = line.dir === "rtl" ? "ArrowRight" : "ArrowLeft";
      const next = {
        [forward]: words[index + 1],
        [back]: words[index - 1],
        Home: words[0],
        End: words.at(-1),
        ArrowDown: side ? null : this.words[1][0],
        ArrowUp: side ? this.words[0][0] : null,
      };
      if (!(event.key in next)) return;
      event.preventDefault();
      next[event.key]?.focus();
    }
  }

  return (element, data) => {
    new Viewer(element, data);
  };
})();
