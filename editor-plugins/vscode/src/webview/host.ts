// The panel's line to the extension, and what the panel itself remembers while it is hidden.

import type { FromPanel } from "../panel/messages";

interface Remembered {
  draft: string;
  mentions: string[];
}

interface Api {
  postMessage(message: FromPanel): void;
  getState(): Remembered | undefined;
  setState(state: Remembered): void;
}

declare function acquireVsCodeApi(): Api;

const api = acquireVsCodeApi();

export const tell = (message: FromPanel): void => api.postMessage(message);
export const remembered = (): Remembered => api.getState() ?? { draft: "", mentions: [] };
export const remember = (state: Remembered): void => api.setState(state);
