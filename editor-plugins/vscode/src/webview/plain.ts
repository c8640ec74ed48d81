// What a terminal was sent, as text.

/** Without what moves a terminal's cursor or colours its text. */
export function plain(text: string): string {
  return text
    .replace(/\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)/g, "")
    .replace(/\x1b[[(][0-?]*[ -/]*[@-~]/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/[^\n]*\r(?!\n)/g, "")
    .replace(/[\x00-\x08\x0b-\x1f\x7f]/g, "");
}
