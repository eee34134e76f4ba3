import type { Query } from "@tanstack/react-query";
import type { Socket } from "socket.io-client";

import { queries } from "@/api/cache";
import { signIn } from "@/api/client";
import { setConnection } from "@/api/connection";
import { forgetJobProgress, setFetch, setJobProgress } from "@/api/progress";
import { queryKeys } from "@/api/queryKeys";
import type { EventMessage } from "@/api/schema.gen";

type SubscribeAnswer = { ok: boolean; last: number; is_complete?: boolean };
type Goodbye = { code: string; after: number | null };

let last: number | null = null;

/** Follows the events of the server, from the last one we have, until the page closes. */
export function listen(): () => void {
  let socket: Socket | null = null;
  let isClosed = false;
  // The first page does not wait for it: events before it is loaded are requested once it connects.
  void import("socket.io-client").then(({ io }) => {
    if (isClosed) return;
    socket = io("/v1", { transports: ["websocket", "polling"], reconnectionDelayMax: 4000 });
    follow(socket);
  });
  return () => {
    isClosed = true;
    socket?.disconnect();
  };
}

function follow(socket: Socket): void {
  socket.on("connect", () => {
    socket.emit("subscribe", { project_id: null, after: last }, (answer: SubscribeAnswer) => {
      if (!answer.ok) return;
      // What we show may be older than the events from now on.
      if (last === null || answer.is_complete === false) void queries.invalidateQueries({ predicate: (query) => !isGraph(query) });
      last = Math.max(last ?? 0, last === null || answer.is_complete === false ? answer.last : 0) || answer.last;
      setConnection(true);
      // Repeats the requests that failed while the server was unreachable.
      void queries.refetchQueries({ predicate: (query) => query.state.status === "error", type: "active" });
    });
  });
  socket.on("event", (event: EventMessage) => {
    if (event.number !== null && event.number !== undefined) last = event.number;
    handleEvent(event);
  });
  socket.on("goodbye", (goodbye: Goodbye) => {
    last = goodbye.after ?? last;
    if (goodbye.code === "TOKEN") signIn();
  });
  socket.on("disconnect", (reason) => {
    setConnection(false);
    // The server closed the connection: then the client does not reconnect by itself.
    if (reason === "io server disconnect") setTimeout(() => socket.connect(), 1000);
  });
  socket.on("connect_error", () => setConnection(false));
}

/** Read once from a file that never changes, and large. */
function isGraph({ queryKey, state }: Query): boolean {
  return state.status === "success" && queryKey[0] === "models" && queryKey[2] === "graph";
}

let changedKeys = new Set<string>();
let timer: number | null = null;

/** What changed is fetched anew at most four times a second, however fast it changes. */
function invalidate(key: readonly (string | number)[]): void {
  changedKeys.add(JSON.stringify(key));
  timer ??= window.setTimeout(() => {
    const keys = [...changedKeys];
    changedKeys = new Set();
    timer = null;
    for (const changedKey of keys) void queries.invalidateQueries({ queryKey: JSON.parse(changedKey) as unknown[] });
  }, 250);
}

function handleEvent(event: EventMessage): void {
  switch (event.kind) {
    case "project.created":
    case "project.changed":
    case "project.deleted":
      invalidate(queryKeys.projects);
      return;
    case "model.created":
    case "model.changed":
    case "model.deleted":
      invalidate(queryKeys.models);
      invalidate(queryKeys.projects);
      return;
    case "dataset.created":
    case "dataset.deleted":
      invalidate(["datasets"]);
      return;
    case "runnable.created":
    case "runnable.changed":
    case "runnable.deleted":
      invalidate(queryKeys.kind(event.data.kind));
      invalidate(queryKeys.projects);
      return;
    case "optimization.trial":
      invalidate(queryKeys.kind("optimization"));
      return;
    case "run.created":
    case "run.changed":
    case "run.deleted":
      invalidate(queryKeys.runs);
      // A job moves with its run: its own event only covers its place in the queue and why it waits.
      invalidate(queryKeys.jobs);
      invalidate(queryKeys.system); // who has which core
      invalidate(queryKeys.kind(event.data.kind));
      invalidate(queryKeys.judgements);
      invalidate(queryKeys.projects);
      return;
    case "job.changed":
      forgetJobProgress(event.data.id);
      invalidate(queryKeys.jobs);
      invalidate(queryKeys.system); // who has which core
      return;
    case "note.changed":
      invalidate(queryKeys.notes);
      return;
    case "job.progress":
      setJobProgress(event.data);
      return;
    case "example.progress":
      setFetch(event.data);
      return;
    case "conversion.progress":
      invalidate([...queryKeys.models, event.data.model_id, "conversions"]);
      return;
    default:
      event satisfies never; // a new kind must not compile unnoticed
  }
}
