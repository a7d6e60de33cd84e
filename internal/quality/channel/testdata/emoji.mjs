// Writes ../emoji.txt from the Unicode data that Node's ICU holds.
import { writeFileSync } from "node:fs";

const ranges = (property) => {
  const is = new RegExp(`^\\p{${property}}$`, "u");
  const found = [];
  for (let c = 0xa0; c <= 0x1ffff; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    if (!is.test(String.fromCodePoint(c))) continue;
    const last = found.at(-1);
    if (last && last[1] === c - 1) last[1] = c;
    else found.push([c, c]);
  }
  return found;
};
const hex = (n) => n.toString(16);
const line = (property) => `${property} ${ranges(property).map(([a, b]) => (a === b ? hex(a) : `${hex(a)}-${hex(b)}`)).join(" ")}\n`;
writeFileSync(new URL("../emoji.txt", import.meta.url), `# Written by testdata/emoji.mjs from Unicode ${process.versions.unicode}, emoji-data.txt (ICU ${process.versions.icu}).
${line("Extended_Pictographic")}${line("Emoji_Presentation")}`);
