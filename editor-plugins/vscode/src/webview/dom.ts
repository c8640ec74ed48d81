// Builds elements: `h("button", { class: "primary", onclick }, "Send")`. Text is always text, never markup.

type Child = Node | string | false | undefined;
type Props = Record<string, string | number | boolean | EventListener | undefined>;

export function h<Tag extends keyof HTMLElementTagNameMap>(tag: Tag, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

/** A button with a text. `key` keeps the focus on it when what it is part of is drawn anew. */
export function button(text: string, onclick: () => void, props: Props = {}): HTMLButtonElement {
  return h("button", { type: "button", ...props, onclick }, text);
}

/** Draw `element` anew from `next`, with the focus where it was. */
export function replace(element: Element, next: Element): void {
  const key = element.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : undefined;
  element.replaceWith(next);
  if (key) next.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus();
}
