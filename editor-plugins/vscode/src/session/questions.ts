// What the agent asks the person in one session: permissions, and forms to fill in. Each is answered exactly once.

import type {
  CreateElicitationRequest,
  CreateElicitationResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk/unstable";
import type { Conversation } from "./conversation";
import type { FormSchema, FormValues } from "./items";

const DISMISSED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

interface Open {
  choose?(optionId: string): void;
  fill?(response: CreateElicitationResponse): void;
  dismiss(): void;
}

export class Questions {
  private readonly open = new Map<string, Open>();
  private count = 0;

  constructor(
    private readonly conversation: Conversation,
    private readonly changed: () => void,
  ) {}

  get some(): boolean {
    return this.open.size > 0;
  }

  /** Ask about a call. Dismissed when the agent no longer wants to know. */
  permission({ toolCall, options }: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    return this.ask(toolCall.toolCallId, signal, (settle) => {
      this.conversation.ask(toolCall, options);
      const end = (response: RequestPermissionResponse) => settle(response, () => this.conversation.ask(toolCall, undefined));
      return { choose: (optionId) => end({ outcome: { outcome: "selected", optionId } }), dismiss: () => end(DISMISSED) };
    });
  }

  /** Show a form. What is no form, as a page of the web, is declined. */
  form(request: CreateElicitationRequest, signal: AbortSignal): Promise<CreateElicitationResponse> {
    if (request.mode !== "form") return Promise.resolve({ action: "decline" });
    const id = `f:${(this.count += 1)}`;
    const schema = request.requestedSchema as FormSchema;
    return this.ask(id, signal, (settle) => {
      this.conversation.form(id, request.message, schema, undefined);
      const end = (response: CreateElicitationResponse) => settle(response, () => this.conversation.form(id, request.message, schema, response.action));
      return { fill: end, dismiss: () => end({ action: "cancel" }) };
    });
  }

  /** A person's choice about a call. */
  choose(callId: string, optionId: string): void {
    this.open.get(callId)?.choose?.(optionId);
  }

  /** What a person has filled in; undefined: they don't want to. */
  fill(id: string, values: FormValues | undefined): void {
    this.open.get(id)?.fill?.(values ? { action: "accept", content: values } : { action: "decline" });
  }

  dismiss(): void {
    for (const question of [...this.open.values()]) question.dismiss();
  }

  private ask<Response>(id: string, signal: AbortSignal, begin: (settle: (response: Response, close: () => void) => void) => Open): Promise<Response> {
    return new Promise((resolve) => {
      const question = begin((response, close) => {
        if (!this.open.delete(id)) return;
        close();
        this.changed();
        resolve(response);
      });
      this.open.set(id, question);
      signal.addEventListener("abort", () => this.open.get(id) === question && question.dismiss(), { once: true });
      this.changed();
    });
  }
}
