import { Refused, csrf, signIn } from "@/api/client";
import type { ModelDetailsDocument, ProblemDocument } from "@/api/schema.gen";

export type Sending = { done: Promise<ModelDetailsDocument>; stop: () => void };

/** Sends a model's file, and reports how much of it was sent, which `fetch` cannot. */
export function sendModel(projectId: number, file: File, onProgress: (share: number) => void): Sending {
  return send("POST", `/api/v1/projects/${projectId}/models?name=${encodeURIComponent(file.name)}`, file, onProgress);
}

/** Sends one of the weights files that a model lacks. */
export function sendWeights(modelId: number, name: string, file: File, onProgress: (share: number) => void): Sending {
  const place = name.split("/").map(encodeURIComponent).join("/");
  return send("PUT", `/api/v1/models/${modelId}/files/${place}`, file, onProgress);
}

function send(method: string, address: string, file: File, onProgress: (share: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = csrf().then(
    (token) =>
      new Promise<ModelDetailsDocument>((resolve, reject) => {
        request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
        request.onload = () => {
          if (request.status === 401) signIn();
          if (request.status < 300) resolve(JSON.parse(request.responseText) as ModelDetailsDocument);
          else reject(new Refused(request.status, problemOf(request.responseText)));
        };
        request.onerror = () => reject(new Error("The connection was lost"));
        request.onabort = () => reject(new UploadStopped());
        request.open(method, address);
        request.setRequestHeader("Content-Type", "application/octet-stream");
        if (token) request.setRequestHeader("X-Modeldyno-CSRF", token);
        request.send(file);
      }),
  );
  return { done, stop: () => request.abort() };
}

/** The user stopped the upload: nothing went wrong. */
export class UploadStopped extends Error {}

function problemOf(text: string): Partial<ProblemDocument> {
  try {
    const problem: unknown = JSON.parse(text);
    return typeof problem === "object" && problem !== null ? problem : {};
  } catch {
    return {};
  }
}
