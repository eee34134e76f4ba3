// Print all that the reference API pushes, one JSON line for each event, with the stock client.
//
//   node listen.js URL TOKEN
//
// First a line that says that it listens.
import { io } from "socket.io-client";

const [url, token] = process.argv.slice(2);
const say = (line) => console.log(JSON.stringify(line));

const socket = io(url, { auth: { token }, reconnection: false });
socket.on("connect", () => say(["connected"]));
socket.on("connect_error", (error) => {
  say(["refused", error.message]);
  process.exit(3);
});
socket.onAny((name, payload) => say([name, payload]));
