// The hooks of preact that the page uses, for the type checker alone.

export interface Ref<T> { current: T }
export function useState<T>(first: T | (() => T)): [T, (next: T | ((before: T) => T)) => void];
export function useEffect(run: () => void | (() => void), changed?: unknown[]): void;
export function useLayoutEffect(run: () => void | (() => void), changed?: unknown[]): void;
export function useRef<T>(first: T): Ref<T>;
export function useMemo<T>(make: () => T, changed: unknown[]): T;
