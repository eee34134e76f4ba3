// Follow the next run to its end with the stock client, through cuts.
//
//   node follow.js URL TOKEN {websocket|polling}
//
// Prints one JSON line for each thing that happens; the test reads them.
import { io } from "socket.io-client";

const [url, token, transport] = process.argv.slice(2);
const say = (what, data) => console.log(JSON.stringify({ what, ...data }));

let last = null;
let runId = null;
const socket = io(`${url}/v1`, {
  auth: { token },
  reconnectionDelay: 50,
  reconnectionDelayMax: 200,
  transports: [transport],
});

socket.on("connect", () => {
  socket.emit("subscribe", { project_id: null, after: last }, (ack) => {
    last ??= ack.last;
    say("subscribed", ack);
  });
});
socket.on("disconnect", (reason) => say("disconnect", { reason }));
socket.on("connect_error", (error) => {
  say("refused", { message: error.message, data: error.data ?? null });
  if (!socket.active) process.exit(3);
});
socket.on("event", (event) => {
  say("event", event);
  if (event.number !== null) last = event.number;
  if (event.kind === "run.created") runId = event.data.run_id;
  const isOver = event.kind === "run.changed" && !["queued", "running"].includes(event.data.state);
  if (isOver && event.data.run_id === runId) {
    socket.close();
    say("end", { state: event.data.state });
  }
});
