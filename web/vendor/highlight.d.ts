// The parts of highlight.js that the page uses, for the type checker alone.

export interface Scope { scope?: string; children: (Scope | string)[] }
declare const highlight: {
  getLanguage(name: string): unknown;
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { _emitter: { rootNode: Scope } };
};
export default highlight;
