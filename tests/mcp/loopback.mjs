// Loaded before a server of other people: whatever it listens on, it listens on this machine alone.
import net from "node:net";

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (port, ...more) {
  const done = more.filter((each) => typeof each === "function");
  return listen.call(this, { port: Number(port), host: "127.0.0.1" }, ...done);
};
