import { arrange, type ToPlace } from "@/features/graph/arrange";

/** Places what it is sent, off the page's own thread. */
self.addEventListener("message", (event: MessageEvent<{ number: number; place: ToPlace }>) => {
  const { number, place } = event.data;
  self.postMessage({ number, arranged: arrange(place) });
});
