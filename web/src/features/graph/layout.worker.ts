import { arrange, type ToPlace } from "@/features/graph/arrange";

/** Arranges graphs off the page's main thread. */
self.addEventListener("message", (event: MessageEvent<{ number: number; place: ToPlace }>) => {
  const { number, place } = event.data;
  self.postMessage({ number, arranged: arrange(place) });
});
