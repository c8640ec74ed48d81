// What a conversation consists of, for the panel to show. Plain data: it crosses from the extension to the webview.

import type {
  AvailableCommand,
  ContentBlock,
  ElicitationContentValue,
  ElicitationSchema,
  PermissionOption,
  PlanEntry,
  SessionConfigOption,
  ToolCallContent,
  ToolCallLocation,
  ToolCallStatus,
  ToolKind,
  UsageUpdate,
} from "@agentclientprotocol/sdk/unstable";

/** A user's, the model's or the model's own thoughts. `messageId` is the ledger's, where it is known. */
export interface Speech {
  type: "user" | "answer" | "thought";
  id: string;
  messageId?: string;
  content: ContentBlock[];
}

export interface Call {
  type: "call";
  id: string;
  callId: string;
  title: string;
  kind: ToolKind;
  status: ToolCallStatus;
  content: ToolCallContent[];
  locations: ToolCallLocation[];
  /** What the person is being asked about this call right now. */
  asks?: PermissionOption[];
}

export interface NoticeItem {
  type: "notice";
  id: string;
  severity: string;
  title: string;
  description?: string;
}

export interface Compaction {
  type: "compaction";
  id: string;
  status: string;
  text: string;
}

/** A form that the agent asks to fill in. `answered`: what became of it. */
export interface Form {
  type: "form";
  id: string;
  message: string;
  schema: FormSchema;
  answered?: string;
}

export type FormSchema = ElicitationSchema;
export type FormValues = Record<string, ElicitationContentValue>;

export type Item = Speech | Call | NoticeItem | Compaction | Form;

/** What stands beside the conversation: each is replaced whole when it changes. */
export interface Standing {
  title: string;
  plan: PlanEntry[];
  usage?: UsageUpdate;
  commands: AvailableCommand[];
  options: SessionConfigOption[];
}
