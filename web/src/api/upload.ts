import { Refused, csrf, signIn } from "@/api/client";
import type { ModelDetailsDocument, ProblemDocument } from "@/api/schema.gen";

export type Sending = { done: Promise<ModelDetailsDocument>; stop: () => void };

/** Sends a model's file, telling how much of it went; `fetch` cannot tell that. */
export function sendModel(projectId: number, file: File, tell: (share: number) => void): Sending {
  return send("POST", `/api/v1/projects/${projectId}/models?name=${encodeURIComponent(file.name)}`, file, tell);
}

/** Sends one of the weights files that a model lacks. */
export function sendWeights(modelId: number, name: string, file: File, tell: (share: number) => void): Sending {
  const place = name.split("/").map(encodeURIComponent).join("/");
  return send("PUT", `/api/v1/models/${modelId}/files/${place}`, file, tell);
}

function send(method: string, address: string, file: File, tell: (share: number) => void): Sending {
  const request = new XMLHttpRequest();
  const done = csrf().then(
    (proof) =>
      new Promise<ModelDetailsDocument>((resolve, reject) => {
        request.upload.onprogress = (event) => event.lengthComputable && tell(event.loaded / event.total);
        request.onload = () => {
          if (request.status === 401) signIn();
          if (request.status < 300) resolve(JSON.parse(request.responseText) as ModelDetailsDocument);
          else reject(new Refused(request.status, problemOf(request.responseText)));
        };
        request.onerror = () => reject(new Error("The connection was lost"));
        request.onabort = () => reject(new Stopped());
        request.open(method, address);
        request.setRequestHeader("Content-Type", "application/octet-stream");
        if (proof) request.setRequestHeader("X-Modeldyno-CSRF", proof);
        request.send(file);
      }),
  );
  return { done, stop: () => request.abort() };
}

/** The user said stop: nothing went wrong. */
export class Stopped extends Error {}

function problemOf(text: string): Partial<ProblemDocument> {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? found : {};
  } catch {
    return {};
  }
}
