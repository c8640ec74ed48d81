// Markdown as HTML that can do no harm: no HTML of its own, no pictures from elsewhere, links to known schemes only.

import MarkdownIt from "markdown-it";

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: false });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });

const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
const SAFE = /^(https?|file|mailto):/i;

/** A relative link is a path of the project. */
markdown.validateLink = (url) => {
  const plain = url.replace(/[\u0000-\u0020]/g, "");
  return !SCHEME.test(plain) || SAFE.test(plain) || /^[a-z]:[\\/]/i.test(plain);
};

// A picture would tell somebody's server that it was looked at: it becomes a link.
markdown.renderer.rules.image = (tokens, at) => {
  const token = tokens[at];
  const text = token?.content || "picture";
  return `<a href="${markdown.utils.escapeHtml(String(token?.attrGet("src") ?? ""))}">${markdown.utils.escapeHtml(text)}</a>`;
};

// The panel's policy allows no styles in attributes; markdown-it aligns table cells with them.
for (const rule of ["th_open", "td_open"]) {
  markdown.renderer.rules[rule] = (tokens, at, options, _, self) => {
    const align = /text-align:(\w+)/.exec(String(tokens[at]?.attrGet("style") ?? ""))?.[1];
    if (align) tokens[at]!.attrs = [["class", align]];
    return self.renderToken(tokens, at, options);
  };
}

export function rendered(text: string): string {
  return markdown.render(text);
}
