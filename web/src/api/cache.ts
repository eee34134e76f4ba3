import { QueryClient } from "@tanstack/react-query";

import { Refused } from "@/api/client";

/** Events say when something changed, so nothing grows old by itself and nothing is polled. */
export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      // What the server refused, it would refuse again; requests that did not reach it are repeated by `events.ts`.
      retry: (count, error) => !(error instanceof Refused) && count < 2,
    },
  },
});
