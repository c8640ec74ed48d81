// What may follow a `/` or an `@`: a list below the prompt, of which a screen reader hears the chosen line.

import { h } from "./dom";
import { wordAt } from "./word";

export interface Choice {
  /** What takes the place of the typed word. */
  value: string;
  label: string;
  detail?: string;
}

export class Completion {
  readonly element = h("ul", { class: "completion", role: "listbox", id: "completion", "aria-label": "Suggestions", hidden: true });
  private choices: Choice[] = [];
  private at = 0;

  constructor(
    private readonly input: HTMLTextAreaElement,
    private readonly accept: (choice: Choice) => void,
  ) {
    for (const [name, value] of Object.entries({ "aria-autocomplete": "list", "aria-controls": "completion", "aria-haspopup": "listbox" })) {
      input.setAttribute(name, value);
    }
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  offer(choices: Choice[]): void {
    this.choices = choices;
    this.at = 0;
    this.element.hidden = choices.length === 0;
    this.draw();
  }

  close(): void {
    this.offer([]);
  }

  /** Whether the key was for the list. */
  key(event: KeyboardEvent): boolean {
    if (!this.isOpen || event.isComposing) return false;
    const chosen = this.choices[this.at];
    if (event.key === "Enter" && chosen && this.isWhole(chosen)) {
      this.close();
      return false;
    }
    if (event.key === "ArrowDown") this.move(1);
    else if (event.key === "ArrowUp") this.move(-1);
    else if (event.key === "Escape") this.close();
    else if ((event.key === "Enter" || event.key === "Tab") && !event.shiftKey && chosen) this.take(chosen);
    else return false;
    event.preventDefault();
    return true;
  }

  /** Whether the choice has been typed already. */
  private isWhole({ value }: Choice): boolean {
    const word = wordAt(this.input.value, this.input.selectionStart);
    return word !== undefined && word.sign + word.text === value;
  }

  private move(step: number): void {
    this.at = (this.at + step + this.choices.length) % this.choices.length;
    this.draw();
  }

  private take(choice: Choice): void {
    this.close();
    this.accept(choice);
  }

  private draw(): void {
    const items = this.choices.map((choice, at) => {
      const selected = at === this.at;
      const onmousedown = (event: Event) => {
        event.preventDefault();
        this.take(choice);
      };
      const props = { role: "option", id: `choice${at}`, "aria-selected": String(selected), onmousedown };
      return h("li", props, h("span", { class: "label" }, choice.label), choice.detail && h("span", { class: "detail" }, choice.detail));
    });
    this.element.replaceChildren(...items);
    items[this.at]?.scrollIntoView({ block: "nearest" });
    if (this.isOpen) this.input.setAttribute("aria-activedescendant", `choice${this.at}`);
    else this.input.removeAttribute("aria-activedescendant");
  }
}
