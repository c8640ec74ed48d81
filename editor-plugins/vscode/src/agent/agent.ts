// A connected agent: a process that has answered `initialize`.

import {
  type ClientApp,
  type ClientConnection,
  type ClientContext,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
} from "@agentclientprotocol/sdk/unstable";
import { CAPABILITIES } from "./client";
import { AgentProcess, type Launch } from "./process";

/** Milliseconds in which an agent must have answered `initialize`. */
const GREETING = 30_000;

export class Agent {
  private constructor(
    readonly process: AgentProcess,
    private readonly connection: ClientConnection,
    readonly about: InitializeResponse,
  ) {}

  /** Start a process and shake hands. Rejects with an Error for people if no agent answers. */
  static async start(launch: Launch, app: ClientApp, version: string, log: (line: string) => void): Promise<Agent> {
    const child = new AgentProcess(launch, log);
    const connection = app.connect(child.stream);
    try {
      const about = await Promise.race([greet(connection.agent, version), child.ended.then(fail), silence()]);
      return new Agent(child, connection, about);
    } catch (error) {
      connection.close();
      void child.stop();
      throw error;
    }
  }

  /** The methods of the agent: `agent.requests.request(methods.agent.session.new, …)`. */
  get requests(): ClientContext {
    return this.connection.agent;
  }

  /** Resolves with a sentence for people when the agent is gone. */
  get ended(): Promise<string> {
    return this.process.ended;
  }

  async stop(): Promise<void> {
    await this.process.stop();
    this.connection.close();
  }
}

async function greet(agent: ClientContext, version: string): Promise<InitializeResponse> {
  const about = await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: CAPABILITIES,
    clientInfo: { name: "acp-adapter-vscode", title: "ACP Adapter for VS Code", version },
  });
  if (about.protocolVersion !== PROTOCOL_VERSION) {
    throw new Error(`The agent speaks version ${about.protocolVersion} of the protocol, this extension ${PROTOCOL_VERSION}.`);
  }
  return about;
}

function fail(reason: string): never {
  throw new Error(reason);
}

function silence(): Promise<never> {
  return new Promise((_, reject) => {
    setTimeout(() => reject(new Error("The agent did not answer for 30 seconds.")), GREETING).unref();
  });
}
