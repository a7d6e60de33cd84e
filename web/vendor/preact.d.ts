// The parts of preact and of its hooks that the page uses, for the type checker alone.

export interface VNode { type: unknown; key: unknown; props: unknown }
export type Child = VNode | string | number | boolean | null | undefined | Child[];
export type Props = Record<string, any>;
export function h(tag: string | ((props: any) => Child), props: Props | null, ...children: Child[]): VNode;
export function render(node: Child, root: Element): void;
