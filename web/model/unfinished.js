// Markdown that has not arrived as a whole: what its end may mean.

/** The text of an unfinished paragraph with what closes the emphasis, the code and the link that it leaves open. It is a guess for the next picture alone. @param {string} source */
export function closed(source) {
  const text = source.replace(/!?\[([^[\]]*)(?:\]\([^()\s]*)?$/, '$1').replace(/(?:[*_~]+|`+|\s+)$/, '').trimEnd();
  /** @type {string[]} */
  const open = [];
  let code = '';
  for (const { 0: mark, index } of text.matchAll(/\\.|`+|\*+|_+|~~/g)) {
    if (mark[0] === '`') code = code === mark ? '' : code || mark;
    if (code || mark[0] === '`' || mark[0] === '\\') continue;
    const [before, after] = [text[index - 1] ?? ' ', text[index + mark.length] ?? ' '];
    let left = mark;
    while (before.trim() && open.length > 0 && left.startsWith(open[open.length - 1])) left = left.slice(open.pop()?.length);
    if (left && after.trim() && !(mark[0] === '_' && /\w/.test(before))) open.push(left);
  }
  return text + code + open.reverse().join('');
}

// A paragraph that ends so may become a table.
export const tableHead = /(?:^|\n)\|[^\n]*(?:\n[|:\- ]*)?$/;

/** A mark alone does not say yet what it is, nor does the end of a fence. @param {string} line  unfinished */
export const undecided = (line) => line.length <= 80 && /^[ >]*(?:[-*+#|`~=_>]*|\d{1,9}[.)]?|[-*+] \[[ xX]?\]?|`{3,}.*|~{3,}.*) *$/.test(line);

/** The line that opens the fence that a text ends within, or nothing. @param {string} source */
export function openFence(source) {
  let open = '';
  for (const [line, mark] of source.matchAll(/^[ >]*(`{3,}|~{3,}).{0,200}\n/gm)) {
    if (!open) open = line;
    else if (line.trim() === mark && mark.startsWith(open.trim().slice(0, 3))) open = '';
  }
  return open;
}
