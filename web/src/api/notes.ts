import { queryOptions } from "@tanstack/react-query";

import { api, answerOf } from "@/api/client";
import { queryKeys } from "@/api/queryKeys";
import type { NoteDocument } from "@/api/schema.gen";

export type NoteSubject = Pick<NoteDocument, "kind" | "id">;

export const noteQuery = ({ kind, id }: NoteSubject) => queryOptions({ queryKey: [...queryKeys.notes, kind, id], queryFn: () => readNote({ kind, id }) });

// Notes of all kinds are read and written in the same way: that of a project stands for all of them.
type NotePath = "/api/v1/projects/{project_id}/note";

function notePath({ kind, id }: NoteSubject): [NotePath, { project_id: number }] {
  return [`/api/v1/${kind}s/{project_id}/note` as NotePath, { project_id: id }];
}

function readNote(subject: NoteSubject): Promise<NoteDocument> {
  const [address, path] = notePath(subject);
  return answerOf(api.GET(address, { params: { path } }));
}

/** Refused with 412 when it is of another version by now. */
export function writeNote(subject: NoteSubject, text: string, version: number): Promise<NoteDocument> {
  const [address, path] = notePath(subject);
  return answerOf(api.PUT(address, { params: { path, header: { "If-Match": `"${version}"` } }, body: { text } }));
}
