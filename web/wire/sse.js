// Server-Sent Events, read as the WHATWG standard has them.

export class Parser {
  #rest = '';
  #id = '';
  #event = '';
  /** @type {string[]} */
  #data = [];
  /** Comments seen: the gateway's heartbeats. */
  comments = 0;

  /** Takes the next piece of the stream and returns the frames that it completes. @param {string} piece @returns {Frame[]} */
  push(piece) {
    if (!/[\r\n]/.test(piece) && !this.#rest.endsWith('\r')) {
      this.#rest += piece; // of a line that may be long: it is not searched again
      return [];
    }
    let text = this.#rest + piece;
    // A CR at the end may be the first half of a CRLF.
    const held = text.endsWith('\r') ? '\r' : '';
    if (held) text = text.slice(0, -1);
    const lines = text.split(/\r\n|\n|\r/);
    this.#rest = lines.pop() + held;
    /** @type {Frame[]} */
    const frames = [];
    for (const line of lines) {
      const frame = this.#line(line);
      if (frame) frames.push(frame);
    }
    return frames;
  }

  #line(/** @type {string} */ line) {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) this.comments++;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + (line[colon + 1] === ' ' ? 2 : 1));
    if (name === 'event') this.#event = value;
    if (name === 'data') this.#data.push(value);
    if (name === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  /** @returns {Frame | null} */
  #dispatch() {
    const frame = this.#data.length > 0 ? { id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') } : null;
    this.#event = '';
    this.#data = [];
    return frame;
  }
}
