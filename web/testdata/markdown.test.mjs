import assert from 'node:assert/strict';
import { test } from 'node:test';

import { elements, made, root, show } from './dom.mjs';

const { Markdown } = await import('../view/markdown.js');
const { read } = await import('../model/reader.js');

/** Renders a text that arrives in pieces of so many characters, drawn at each. */
function render(source, step = source.length || 1) {
  const into = root();
  const markdown = new Markdown(into);
  for (let i = 0; i < source.length; i += step) {
    markdown.append(source.slice(i, i + step));
    markdown.draw();
  }
  markdown.end();
  return into;
}

const html = (source, step) => render(source, step).childNodes.map(show).join('');

const cases = {
  'paragraphs': ['one\ntwo\n\nthree', '<p>one\ntwo</p><p>three</p>'],
  'hard breaks': ['a  \nb\\\nc<br>d', '<p>a<br></br>b<br></br>c<br></br>d</p>'],
  'headings': ['# A #\n### B\n###### C\n#no', '<h3>A</h3><h5>B</h5><h6>C</h6><p>#no</p>'],
  'emphasis': ['**b** *i* __b__ _i_ ~~d~~ ***bi***', '<p><strong>b</strong> <em>i</em> <strong>b</strong> <em>i</em> <del>d</del> <em><strong>bi</strong></em></p>'],
  'nested emphasis': ['**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
  'no emphasis': ['2 * 3 * 4, snake_case_name, a ~ b', '<p>2 * 3 * 4, snake_case_name, a ~ b</p>'],
  'emphasis left open': ['*a **b', '<p>*a **b</p>'],
  'emphasis closed in the wrong order': ['*a **b*', '<p>*a *<em>b</em></p>'],
  'code spans': ['`a` ``b ` c`` `*d*` `e', '<p><code>a</code> <code>b ` c</code> <code>*d*</code> `e</p>'],
  'escapes and entities': ['\\*a\\* \\q &amp; &lt; &nope;', '<p>*a* \\q & < &nope;</p>'],
  'fenced code': ['```js\n  let *x*;\n\n<b>\n```\nafter', '<pre><code>  let *x*;\n\n<b></code></pre><p>after</p>'],
  'tildes around backticks': ['~~~\n```\n~~~', '<pre><code>```</code></pre>'],
  'fence left open': ['```\na', '<pre><code>a</code></pre>'],
  'list': ['- a\n- b\n* c', '<ul><li><p>a</p></li><li><p>b</p></li></ul><ul><li><p>c</p></li></ul>'],
  'loose list': ['1. a\n\n   more\n\n2. b', '<ol><li><p>a</p><p>more</p></li><li><p>b</p></li></ol>'],
  'list that starts later': ['3) a\n4) b', '<ol start=3><li><p>a</p></li><li><p>b</p></li></ol>'],
  'nested lists': ['1. a\n   - b\n     - c\n2. d', '<ol><li><p>a</p><ul><li><p>b</p><ul><li><p>c</p></li></ul></li></ul></li><li><p>d</p></li></ol>'],
  'lazy line in a list': ['- a\nb\n\nc', '<ul><li><p>a\nb</p></li></ul><p>c</p>'],
  'code in a list': ['- a\n  ```\n  x\n    y\n  ```\n- b', '<ul><li><p>a</p><pre><code>x\n  y</code></pre></li><li><p>b</p></li></ul>'],
  'tasks': ['- [x] a\n- [ ] b', '<ul><li><input></input><p>a</p></li><li><input></input><p>b</p></li></ul>'],
  'item that ends before it begins': ['a\n\n- ', '<p>a</p>'],
  'last item that ends before it begins': ['1. a\n2. ', '<ol><li><p>a</p></li></ol>'],
  'items within each other that end before they begin': ['- a\n  - - *', '<ul><li><p>a</p></li></ul>'],
  'empty item that is not the last': ['-\n- a', '<ul><li></li><li><p>a</p></li></ul>'],
  'a number is no item that was cut': ['It is:\n\n42.', '<p>It is:</p><ol start=42><li></li></ol>'],
  'a year is no list': ['It was in\n1986. Then', '<p>It was in\n1986. Then</p>'],
  'quotes': ['> a\n> > b\n\nc', '<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote><p>c</p>'],
  'rules': ['a\n\n---\n* * *\n___', '<p>a</p><hr></hr><hr></hr><hr></hr>'],
  'table': ['| a | b |\n|---|--:|\n| `x\\|y` | \\| |\n| 1 |\n\nafter',
    '<div role=group><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td>|</td></tr><tr><td>1</td><td></td></tr></tbody></table></div><p>after</p>'],
  'table after a line': ['see\na|b\n-|-\n1|2', '<p>see</p><div role=group><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table></div>'],
  'no table': ['| a | b |\n|---|\nx', '<p>| a | b |\n|---|\nx</p>'],
  'links say where they lead': ['[**x**](https://a.b/c "t")', '<p><span><a href=https://a.b/c><strong>x</strong></a><bdi> (a.b)</bdi></span></p>'],
  'references to characters in an address': ['[x](https://a.b/?c=1&amp;d=2)', '<p><span><a href=https://a.b/?c=1&d=2>x</a><bdi> (a.b)</bdi></span></p>'],
  'bare addresses': ['(https://a.b/c_d). <https://e.f> <me@a.b>', '<p>(<a href=https://a.b/c_d>https://a.b/c_d</a>). <a href=https://e.f/>https://e.f</a> <a href=mailto:me@a.b>me@a.b</a></p>'],
  'headings with a line below': ['A\n===\nB\n---\nc', '<h3>A</h3><h4>B</h4><p>c</p>'],
  'indented code': ['a\n\n    b\n      c\n\nd', '<p>a</p><pre><code>b\n  c</code></pre><p>d</p>'],
  'links by reference': ['[a][1] and [b].\n\n[1]: https://a.b/c\n[B]: https://d.e "t"',
    '<p><span><a href=https://a.b/c>a</a><bdi> (a.b)</bdi></span> and <span><a href=https://d.e/>b</a><bdi> (d.e)</bdi></span>.</p>'],
  'references that are not there': ['[a][1] and [b]', '<p>[a][1] and [b]</p>'],
  'an image in a link': ['[![alt](https://a.b/p.png)](https://c.d)', '<p><span><a href=https://c.d/>Picture on a.b: alt</a><bdi> (c.d)</bdi></span></p>'],
  'characters by number': ['&#8594; &#x2192; &rarr; &#0; &#xD800; &#9999999; &#x110000;', '<p>→ → → \ufffd \ufffd \ufffd \ufffd</p>'],
  'Windows line ends': ['- a\r\n- b\r\n', '<ul><li><p>a</p></li><li><p>b</p></li></ul>'],
};

for (const [name, [source, want]] of Object.entries(cases)) {
  test(name, () => assert.equal(html(source), want));
}

test('the result does not depend on how a text is cut', () => {
  const all = Object.values(cases).map(([source]) => source).join('\n\n');
  for (const source of [all, ...Object.values(cases).map(([s]) => s)]) {
    for (const step of [1, 2, 3, 7, 50]) assert.equal(html(source, step), html(source), `in pieces of ${step}: ${source}`);
  }
});

test('nor for texts that nobody would write', () => {
  const bits = ['# T\n', 'a', 'b **c** d', '\n', '\n\n', '- ', '1. ', '  ', '    ', '   ', '> ', '```\n', '```js\n', '|', '| a | b |\n', '|--|--|\n', '---\n', '===\n', '[x]',
    '[x]: http://a.b\n', '`c`', '*', '**', '<div>', '<br>', 'http://x.y ', '- [x] t\n', '\t', '* ', '~~~\n', '+ a\n', '2) b\n', '\\', 'x  \n', '|-\n', '<!--', '-->', '&amp;'];
  let seed = 1;
  const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
  for (let i = 0; i < 300; i++) {
    const source = Array.from({ length: 2 + random(12) }, () => bits[random(bits.length)]).join('');
    for (const step of [1, 2, 5]) assert.equal(html(source, step), html(source), `in pieces of ${step}: ${JSON.stringify(source)}`);
  }
});

/** What is on the screen when so much of a text has arrived. */
function unfinished(source) {
  const into = root();
  const markdown = new Markdown(into);
  for (const c of source) {
    markdown.append(c);
    markdown.draw();
  }
  return into.childNodes.map(show).join('');
}

test('what is open is shown as if it were closed', () => {
  for (const [source, want] of [
    ['**bo', '<p><strong>bo</strong></p>'],
    ['**bold*', '<p><strong>bold</strong></p>'],
    ['a `co', '<p>a <code>co</code></p>'],
    ['[words](https://exam', '<p>words</p>'],
    ['[wor', '<p>wor</p>'],
    ['a\n\n-', '<p>a</p>'],
    ['- a\n- ', '<ul><li><p>a</p></li></ul>'],
    ['- a\n  - b', '<ul><li><p>a</p><ul><li><p>b</p></li></ul></li></ul>'],
    ['a\n\n#', '<p>a</p>'],
    ['a\n\n```j', '<p>a</p>'],
    ['```\na\n``', '<pre><code>a</code></pre>'],
    ['a\n\n| b | c |\n|-', '<p>a</p>'],
  ]) assert.equal(unfinished(source), want, source);
});

test('only web and mail addresses become links', () => {
  for (const address of ['javascript:alert(1)', 'JaVaScRiPt:alert(1)', 'java\tscript:alert(1)', ' javascript:alert(1)', 'data:text/html,x', 'vbscript:x', 'file:///etc/passwd',
    'blob:x', '//evil.example', '/path', '#here', 'https:', 'http://', '\u0001javascript:alert(1)']) {
    for (const source of [`[x](${address})`, `[x](<${address}>)`, `<${address}>`, `![x](${address})`, address]) {
      for (const e of elements(render(source))) assert.equal(e.tag === 'a' ? e.href : undefined, undefined, `${source} became ${e.href}`);
    }
  }
});

test('links send nothing along', () => {
  const [a] = [...elements(render('[x](http://a.b)'))].filter((e) => e.tag === 'a');
  assert.deepEqual([a.rel, a.target, a.referrerPolicy], ['noopener noreferrer nofollow', '_blank', 'no-referrer']);
});

test('the host that is shown is the one that a link leads to', () => {
  for (const [address, host] of [['https://bank.example@evil.example/', 'evil.example'], ['https://evil.example\\\\@bank.example', 'evil.example'], ['http://b\u0430nk.example', 'xn--bnk-6cd.example']]) {
    assert.equal(render(`[bank.example](${address})`).textContent, `bank.example (${host})`);
  }
});

test('an address that is written by references to characters is looked at as what it is', () => {
  for (const address of ['javascript&colon;alert(1)', '&#106;avascript:alert(1)', '&#x6a;avascript:alert(1)', 'java&#10;script:alert(1)']) {
    for (const source of [`[x](${address})`, `![x](${address})`, `[x]\n\n[x]: ${address}`]) {
      for (const e of elements(render(source))) assert.equal(e.tag === 'a' ? e.href : undefined, undefined, `${source} became ${e.href}`);
    }
  }
  assert.equal(html('a&#x202e;b'), '<p>a[U+202E]b</p>');
});

test('mathematics is taken out before a backslash means anything', () => {
  const formulas = (source) => [...elements(render(source))].filter((e) => e.className.startsWith('math')).map((e) => [e.attributes['data-tex'], e.className]);
  assert.deepEqual(formulas('It is $x^2 e^{-x}\\,dx$ and \\(a_b\\).'), [['x^2 e^{-x}\\,dx', 'math'], ['a_b', 'math']]);
  assert.deepEqual(formulas('$$\n\\int_0^1 x\\,dx\n$$\n\nand\n\\[ a = b \\]'), [['\\int_0^1 x\\,dx', 'math display'], ['a = b', 'math display']]);
  for (const none of ['It costs $5 and $6.', 'From $ 5 to 6 $', '`$x$` and ${HOME}/${USER} $HOME and $PATH', '```sh\necho $a$\n```', '\\$x\\$']) assert.deepEqual(formulas(none), [], none);
});

test('footnotes stand where they are defined', () => {
  assert.equal(html('A note[^1] here.\n\n[^1]: The *text* of it.'), '<p>A note<sup>1</sup> here.</p><p><sup>1</sup> The <em>text</em> of it.</p>');
});

test('pictures are links that name their place', () => {
  const all = [...elements(render('![alt text](https://a.b/p.png) ![](https://a.b/q.png)'))];
  assert.deepEqual(all.filter((e) => e.tag === 'a').map((e) => [e.textContent, e.href]), [['Picture on a.b: alt text', 'https://a.b/p.png'], ['Picture on a.b', 'https://a.b/q.png']]);
  assert.ok(!all.some((e) => e.tag === 'img'));
});

test('HTML is text', () => {
  const source = '<script>alert(1)</script> <img src=x onerror=alert(1)> <svg/onload=alert(1)> <a href="javascript:x">y</a> <!-- c -->';
  assert.equal(html(source), `<p>${source}</p>`);
  assert.equal(html('<div>\n**x**\n\n</div>'), '<p><div>\n<strong>x</strong></p><p></div></p>');
});

test('characters that turn the direction are written out', () => {
  assert.equal(html('a\u202Egnp.exe `\u2066x`'), '<p>a[U+202E]gnp.exe <code>[U+2066]x</code></p>');
  assert.equal(html('```\n\u202Ex\n```'), '<pre><code>[U+202E]x</code></pre>');
});

test('nesting is capped', () => {
  const texts = ['> ', '- ', '1. ', '>', '*', '**', '[', '~~a ', '_a ', '![', '* - '].map((mark) => [mark, `${mark.repeat(20_000)}x`]);
  for (const [name, source] of [...texts, ['closed', `${'*a **b '.repeat(60)}c${' d** e*'.repeat(60)}`]]) {
    let deepest = 0;
    const depth = (node, n) => {
      deepest = Math.max(deepest, n);
      for (const child of node.children) depth(child, n + 1);
    };
    depth(render(source, 999), 0);
    assert.ok(deepest < 60, `${name}: ${deepest} deep`);
  }
});

const long = 'let x = "1,2,3"; // a line\n'.repeat(2000);

test('code that is long stays one block, and is copied as it came', () => {
  for (const source of [long, long.replaceAll('\n', ' '), `\n\n${long}\n`]) {
    for (const step of [500, source.length]) {
      const into = render(`\`\`\`js\n${source.replace(/\n$/, '')}\n\`\`\`\n\nafter`, step);
      assert.equal(into.childNodes.length, 2);
      const lines = into.firstChild.lastChild.children;
      assert.ok(lines.length > 3, 'in parts, which a browser lays out one by one');
      assert.equal(lines.map((c, i) => (i === 0 || c.className === 'more' ? '' : '\n') + c.textContent).join(''), source.replace(/\n$/, ''));
    }
  }
});

test('code that ends where it is cut has no empty line more', () => {
  const source = `${'x'.repeat(99)}\n`.repeat(82); // the last line makes it too long
  const [block] = render(`\`\`\`js\n${source}\`\`\``, 50).children;
  assert.equal(block.lastChild.children.map((c) => c.textContent).join('\n'), source.trimEnd());
});

test('lists and tables that are long stay one', () => {
  assert.deepEqual(render('1. an item\n'.repeat(3000), 700).children.map((c) => [c.tag, c.children.length]), [['ol', 3000]]);
  const into = render(`| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(3000)}\nafter`, 700);
  assert.equal(into.children.length, 2);
  assert.equal([...elements(into)].filter((e) => e.tag === 'tr').length, 3001);
});

test('code in a list item that is too long stays code', () => {
  const into = render(`0. Sit down.\n1. Write:\n\n   \`\`\`js\n${long.replace(/^/gm, '   ')}\n   \`\`\`\n\n2. **Run** it`, 700);
  assert.ok(!show(into).includes('<p>let'), 'no line of it is prose');
  assert.equal(into.textContent.split('let x').length - 1, 2000);
  assert.ok(show(into.lastChild).startsWith('<ol start=2><li><p><strong>Run</strong> it</p>'));
});

test('what a reader may have in hand stays while text arrives', () => {
  const into = root();
  const markdown = new Markdown(into);
  markdown.append('before\n\n1. a\n\n   ```js\n   let x;\n');
  markdown.draw();
  const find = (tag) => [...elements(into)].find((e) => e.tag === tag);
  const kept = ['p', 'ol', 'pre', 'button'].map(find);
  const words = find('code').firstChild;
  for (const more of ['   let', ' y;\n', '   ```\n', '2. b\n', '\nafter']) {
    markdown.append(more);
    markdown.draw();
  }
  assert.deepEqual(['p', 'ol', 'pre', 'button'].map((tag, i) => find(tag) === kept[i]), [true, true, true, true]);
  assert.equal(find('code').firstChild, words);
  assert.equal(find('pre').textContent, 'let x;\nlet y;');
});

test('a text that marked cannot read is shown as it is', () => {
  assert.deepEqual(read('[a]: b', null, false).map((t) => [t.type, t.tokens[0].text]), [['paragraph', '[a]: b']]);
});

test('a paragraph with more marks than anyone writes is shown as it is', () => {
  assert.equal(html(`${'*a* '.repeat(600).trim()}\n\n*b*`), `<p>${'*a* '.repeat(600).trim()}</p><p><em>b</em></p>`);
});

test('a table has no more columns than can be read', () => {
  const table = (columns) => `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|\n'.repeat(1000)}`;
  assert.equal([...elements(render(table(64)))].filter((e) => e.tag === 'th').length, 64);
  const before = made;
  render(table(65));
  assert.ok(made - before < 5000, `${made - before} nodes`);
});

test('links have as many definitions as anyone writes', () => {
  const into = render(`${Array.from({ length: 201 }, (_, i) => `[d${i}]: https://a.b/${i}\n`).join('')}\n[d199] [d200]`);
  const links = [...elements(into)].filter((e) => e.tag === 'a').map((e) => e.href);
  assert.deepEqual(links, ['https://a.b/200', 'https://a.b/199'], 'one more is shown, and not looked up');
});

test('a text that is blank for long', () => {
  assert.equal(html(`a${'\n'.repeat(20_000)}b`, 700), '<p>a</p><p>b</p>');
  assert.equal(html(`${'\n'.repeat(20_000)}${' '.repeat(20_000)}\nb`, 700), '<p>b</p>');
});

test('a code point is never cut', () => {
  const source = `x${'\u{1F600}'.repeat(30_000)}`;
  assert.equal(render(source, 1001).textContent, source);
  for (const e of elements(render(source))) assert.ok(e.textContent.isWellFormed?.() ?? true);
});

// Twice the text makes at most about twice the nodes, however it is cut: the same
// holds for the work, which is bounded for each node.
test('work grows with the length, not its square', () => {
  const mix = '# T\n\nSome **bold** text with `code` and [l](https://x.y).\n\n- a\n- b\n  - c\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n```js\nlet x\n```\n\n> q **b**\n\n';
  const texts = {
    mix: (n) => mix.repeat(n),
    'one line': (n) => 'word **b** '.repeat(16 * n),
    'one word': (n) => 'x'.repeat(160 * n),
    'one paragraph': (n) => 'some *words* here\n'.repeat(16 * n),
    'one list': (n) => '- an item\n'.repeat(16 * n),
    'one table': (n) => `| a | b |\n|---|---|\n${'| 1 | 2 |\n'.repeat(16 * n)}`,
    'one block of code': (n) => `\`\`\`\n${'let x;\n'.repeat(16 * n)}`,
    'one quote': (n) => '> a\n'.repeat(16 * n),
  };
  for (const hostile of ['*a **b ', '[', '[a](', '![', '`a``b```c', '**', '*a_', 'a_', '!', '-\n', 'a\n=\n', '[a]: b\n', '|\n', '<!--', '_a', '<a', '- ', '|', '>>>', '~~', '&', 'https://', '\\', '- [x] ', '(((', '1. ']) {
    texts[hostile] = (n) => hostile.repeat(32 * n);
  }
  for (const [name, text] of Object.entries(texts)) {
    const nodes = [100, 200].map((n) => {
      const before = made;
      render(text(n), 1000);
      return made - before;
    });
    assert.ok(nodes[1] < 2.5 * nodes[0] + 500, `${name}: ${nodes}`);
  }
});

test('an answer as long as the gateway allows', () => {
  const longest = 2 << 20;
  for (const piece of ['x', '**a** `b` [c](https://d.e)\n', '*a **b ']) {
    const before = made;
    render(piece.repeat(longest / piece.length), 1 << 15);
    assert.ok(made - before < 3 * longest, `${piece}: ${made - before} nodes`);
  }
});

// A browser that is asked for it looks through the whole table at each row that comes.
test('a table has the direction of its first letter', () => {
  for (const [head, rows, dir] of [['a', 'b', 'ltr'], ['שלום', 'a', 'rtl'], ['1', '2\n|3|\n|مرحبا', 'rtl'], ['1', '2', ''], ['123 a', 'ש', 'ltr']]) {
    for (const step of [1, 1000]) {
      const [table] = [...elements(render(`|${head}|\n|-|\n|${rows}|\n`, step))].filter((e) => e.tag === 'table');
      assert.equal(table.dir, dir, `${head}, ${rows}, in pieces of ${step}`);
    }
  }
});
