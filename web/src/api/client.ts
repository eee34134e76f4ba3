import createClient, { type Middleware } from "openapi-fetch";

import type { ProblemDocument, paths } from "@/api/schema.gen";

/** A request that the server refused, with its reason. */
export class Refused extends Error {
  readonly status: number;
  readonly code: string;
  readonly why: string;
  readonly fix: string;

  constructor(status: number, problem: Partial<ProblemDocument>) {
    super(problem.title ?? `The server answered ${status}`);
    this.status = status;
    this.code = problem.code ?? "UNKNOWN";
    this.why = problem.detail ?? "";
    this.fix = problem.fix ?? "";
  }
}

let csrfToken: Promise<string | null> | null = null;

/** The token that every change must carry when a cookie signs us in. */
export function csrf(): Promise<string | null> {
  csrfToken ??= fetch("/api/v1/session")
    .then((response) => (response.ok ? response.json() : { csrf: null }))
    .then((session: { csrf: string | null }) => session.csrf)
    .catch(() => {
      csrfToken = null;
      return null;
    });
  return csrfToken;
}

export function signIn(): void {
  const returnTo = window.location.pathname + window.location.search;
  window.location.assign(`/login?next=${encodeURIComponent(returnTo)}`);
}

const csrfMiddleware: Middleware = {
  async onRequest({ request }) {
    if (request.method !== "GET") {
      const token = await csrf();
      if (token) request.headers.set("X-Modeldyno-CSRF", token);
    }
    return request;
  },
  onResponse({ response }) {
    if (response.status === 401) signIn();
  },
};

export const api = createClient<paths>({ baseUrl: window.location.origin });
api.use(csrfMiddleware);

type FetchResult<T> = { data?: T; error?: unknown; response: Response };

/** The body of the answer; throws `Refused` if the server refused. */
export async function answerOf<T>(request: Promise<FetchResult<T>>): Promise<T> {
  const { data, error, response } = await request;
  if (error !== undefined || !response.ok) throw new Refused(response.status, isProblem(error) ? error : {});
  return data as T; // 204 has none, and its T is undefined
}

function isProblem(value: unknown): value is Partial<ProblemDocument> {
  return typeof value === "object" && value !== null && "title" in value;
}
