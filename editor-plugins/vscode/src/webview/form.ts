// A form that the agent asks to fill in: one field for each property of its schema. The browser checks what is typed.

import type { ElicitationPropertySchema, StringPropertySchema } from "@agentclientprotocol/sdk/unstable";
import type { Form, FormValues } from "../session/items";
import { alert } from "./announce";
import { button, h } from "./dom";
import { tell } from "./host";
import { rendered } from "./markdown";

const ENDS: Record<string, string> = { accept: "Answered.", decline: "You did not want to answer.", cancel: "No longer asked." };

interface Field {
  element: HTMLElement;
  value(): FormValues[string] | undefined;
}

interface Choice {
  value: string;
  title: string;
}

export function drawForm({ id, message, schema, answered }: Form): HTMLElement {
  const said = h("div", { class: "prose" });
  said.innerHTML = rendered(message);
  if (answered) return h("section", { class: "form" }, said, h("p", { class: "faint" }, ENDS[answered] ?? answered));
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => [name, fieldOf(`${id}.${name}`, name, property, required.has(name))] as const);
  const submit: EventListener = (event) => {
    event.preventDefault();
    const given = fields.map(([name, field]) => [name, field?.value()] as const).filter(([, value]) => value !== undefined);
    if (fields.length && !given.length) return alert("Nothing is filled in yet.");
    tell({ type: "fill", id, values: Object.fromEntries(given) as FormValues });
  };
  const answers = h("div", { class: "question" }, h("button", { type: "submit", class: "primary" }, "Answer"), button("Decline", () => tell({ type: "fill", id })));
  return h("form", { class: "form asks", onsubmit: submit, "aria-label": "The agent asks" }, said, ...fields.map(([, field]) => field?.element), answers);
}

/** Undefined for a kind of field that this client does not know. */
function fieldOf(id: string, name: string, property: ElicitationPropertySchema, required: boolean): Field | undefined {
  const title = String(property.title ?? name);
  const about = property.description ? String(property.description) : undefined;
  if (property.type === "boolean") return checkbox(title, about, property.default === true);
  if (property.type === "array") return several(title, about, choicesOf((property.items as StringPropertySchema & { anyOf?: StringPropertySchema["oneOf"] }) ?? {}));
  if (property.type === "number" || property.type === "integer") return number(title, about, property as Bounds & { type: string }, required);
  if (property.type !== "string") return undefined;
  const text = property as StringPropertySchema;
  const choices = choicesOf(text);
  return choices.length ? oneOf(id, title, about, choices, text.default, required) : line(title, about, text, required);
}

function choicesOf(schema: { enum?: string[] | null; oneOf?: StringPropertySchema["oneOf"]; anyOf?: StringPropertySchema["oneOf"] }): Choice[] {
  const titled = schema.oneOf ?? schema.anyOf ?? [];
  return titled.length ? titled.map((each) => ({ value: each.const, title: each.title })) : (schema.enum ?? []).map((value) => ({ value, title: value }));
}

function labelled(title: string, about: string | undefined, control: HTMLElement): HTMLElement {
  return h("label", {}, h("span", {}, title), about && h("span", { class: "faint" }, about), control);
}

function line(title: string, about: string | undefined, text: StringPropertySchema, required: boolean): Field {
  const { minLength, maxLength, pattern, format } = text;
  const type = format === "email" || format === "date" ? format : format === "uri" ? "url" : "text";
  const input = h("input", { type, required, value: text.default ?? "", minlength: minLength ?? undefined, maxlength: maxLength ?? undefined, pattern: pattern ?? undefined });
  return { element: labelled(title, about, input), value: () => input.value || undefined };
}

interface Bounds {
  minimum?: number | null;
  maximum?: number | null;
  default?: number | null;
}

function number(title: string, about: string | undefined, { type, minimum, maximum, default: usual }: Bounds & { type: string }, required: boolean): Field {
  const input = h("input", { type: "number", step: type === "integer" ? 1 : "any", required, min: minimum ?? undefined, max: maximum ?? undefined, value: usual ?? undefined });
  return { element: labelled(title, about, input), value: () => (input.value === "" ? undefined : input.valueAsNumber) };
}

function checkbox(title: string, about: string | undefined, checked: boolean): Field {
  const input = h("input", { type: "checkbox", checked });
  return { element: h("label", { class: "option" }, input, title, about && h("span", { class: "faint" }, about)), value: () => input.checked };
}

function oneOf(id: string, title: string, about: string | undefined, choices: Choice[], usual: string | null | undefined, required: boolean): Field {
  const inputs = choices.map(({ value }) => h("input", { type: "radio", name: id, value, required, checked: value === usual }));
  return { element: group(title, about, choices, inputs), value: () => inputs.find((input) => input.checked)?.value };
}

function several(title: string, about: string | undefined, choices: Choice[]): Field {
  const inputs = choices.map(({ value }) => h("input", { type: "checkbox", value }));
  return { element: group(title, about, choices, inputs), value: () => inputs.filter((input) => input.checked).map((input) => input.value) };
}

function group(title: string, about: string | undefined, choices: Choice[], inputs: HTMLInputElement[]): HTMLElement {
  const options = inputs.map((input, at) => h("label", { class: "option" }, input, choices[at]?.title ?? ""));
  return h("fieldset", {}, h("legend", {}, title), about && h("span", { class: "faint" }, about), ...options);
}
