// Preloaded (node --import) before a server that cannot be told where to listen:
// a listener without a host gets 127.0.0.1, and port 0 means one that the kernel
// picks. Where it listens is told on stderr, as one line.
import net from 'node:net';

const listen = net.Server.prototype.listen;

net.Server.prototype.listen = function (...args) {
  this.once('listening', () => {
    const { address, port } = this.address();
    console.error(`listening on http://${address}:${port}`);
  });
  if (typeof args[0] !== 'number' && !/^\d+$/.test(args[0])) return listen.apply(this, args);
  const callback = args.findLast((a) => typeof a === 'function');
  if (callback) this.once('listening', callback);
  // With a host, listen would first look its name up, and servers ask for their
  // address at once. This is what it calls then.
  this._listen2('127.0.0.1', Number(args[0]), 4);
  return this;
};
