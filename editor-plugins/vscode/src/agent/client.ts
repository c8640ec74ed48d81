// What the agent may ask of the editor, wired to the SDK. All of ACP's framing, checking and pairing is the SDK's.

import {
  type ClientApp,
  type ClientCapabilities,
  client,
  type CreateElicitationRequest,
  type CreateElicitationResponse,
  type CreateTerminalRequest,
  type CreateTerminalResponse,
  methods,
  type ReadTextFileRequest,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type TerminalOutputResponse,
  type WaitForTerminalExitResponse,
  type WriteTextFileRequest,
} from "@agentclientprotocol/sdk/unstable";

/** The open documents, saved or not. */
export interface Documents {
  read(request: ReadTextFileRequest): Promise<string>;
  write(request: WriteTextFileRequest): Promise<void>;
}

/** The editor's terminals, by the ids that it gave. */
export interface Terminals {
  create(request: CreateTerminalRequest): CreateTerminalResponse;
  output(id: string): TerminalOutputResponse;
  waitForExit(id: string): Promise<WaitForTerminalExitResponse>;
  kill(id: string): void;
  release(id: string): void;
}

/** The conversations: told of every update, asked whatever a person is asked. */
export interface Listener {
  update(notification: SessionNotification): void;
  ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse>;
  fill(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse>;
}

export const CAPABILITIES: ClientCapabilities = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { notices: {}, compaction: {} },
  elicitation: { form: {} },
  auth: { terminal: true },
};

export function clientApp(documents: Documents, terminals: Terminals, listener: Listener): ClientApp {
  const { session, fs, terminal, elicitation } = methods.client;
  return client({ name: "acp-adapter-vscode" })
    .onNotification(session.update, ({ params }) => listener.update(params))
    .onRequest(session.requestPermission, ({ params, signal }) => listener.ask(params, signal))
    .onRequest(elicitation.create, ({ params, signal }) => listener.fill(params, signal))
    .onRequest(fs.readTextFile, async ({ params }) => ({ content: await documents.read(params) }))
    .onRequest(fs.writeTextFile, ({ params }) => documents.write(params))
    .onRequest(terminal.create, ({ params }) => terminals.create(params))
    .onRequest(terminal.output, ({ params }) => terminals.output(params.terminalId))
    .onRequest(terminal.waitForExit, ({ params }) => terminals.waitForExit(params.terminalId))
    .onRequest(terminal.kill, ({ params }) => terminals.kill(params.terminalId))
    .onRequest(terminal.release, ({ params }) => terminals.release(params.terminalId));
}
