export {}; // KaTeX is loaded for its effect: globalThis.katex
