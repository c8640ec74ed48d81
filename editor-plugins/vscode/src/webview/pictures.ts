// Pictures that were pasted and go with the next prompt.

import type { Image } from "../session/prompt";
import { alert } from "./announce";
import { button, h } from "./dom";

const KINDS = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LIMIT = 10 * 1024 * 1024;

export class Pictures {
  readonly element = h("div", { class: "pictures", hidden: true });
  private images: Image[] = [];

  /** Whether the clipboard held pictures, which are now attached. */
  paste(event: ClipboardEvent): boolean {
    const files = [...(event.clipboardData?.files ?? [])].filter(({ type }) => KINDS.includes(type));
    for (const file of files) void this.add(file);
    return files.length > 0;
  }

  /** The pictures, which are then no longer attached. */
  take(): Image[] {
    const images = this.images;
    this.set([]);
    return images;
  }

  get some(): boolean {
    return this.images.length > 0;
  }

  private async add(file: File): Promise<void> {
    if (file.size > LIMIT) return alert("The picture is larger than 10 MB and was not attached.");
    const url = await new Promise<string>((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(String(reader.result));
      reader.readAsDataURL(file);
    });
    this.set([...this.images, { mimeType: file.type, data: url.slice(url.indexOf(",") + 1) }]);
  }

  private set(images: Image[]): void {
    this.images = images;
    this.element.hidden = images.length === 0;
    const shown = images.map((image, at) => {
      const remove = button("×", () => this.set(images.filter((each) => each !== image)), { "aria-label": `Remove picture ${at + 1}` });
      return h("span", { class: "picture" }, h("img", { src: `data:${image.mimeType};base64,${image.data}`, alt: `Picture ${at + 1}` }), remove);
    });
    this.element.replaceChildren(...shown);
  }
}
