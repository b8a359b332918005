import { isShown } from './hidden.ts';
import type { Path } from './problem.ts';

/**
 * A place of the configuration for whoever sees it without zones of silent hold-up (`shownConfig`): entries of lists by their ids
 * (`cameras[yard].url`), those without by where they stand among the shown ones. A clash with a zone that is not shown stands at
 * the shown zone of that number, as one with any other does; anything else within what is not shown is of the whole (safety 4).
 */
export function shownPath(config: unknown, path: string): string {
  const place = lookedUp(config, path);
  if (place.isHidden) return zonePlaceOf(config, place) ?? '';
  return place.text;
}

interface Place {
  readonly text: string;
  readonly isHidden: boolean;
  /** What stands there. */
  readonly value: unknown;
  readonly last: string;
}

function lookedUp(config: unknown, path: string): Place {
  let [value, text, last, isHidden] = [config, '', '', false];
  for (const [, index, key = ''] of path.matchAll(/\[(\d+)\]|\.?([^.[\]]+)/g)) {
    const list: readonly unknown[] = Array.isArray(value) ? value : [];
    last = index ?? key;
    text += index === undefined ? `${text === '' ? '' : '.'}${key}` : `[${nameIn(list, Number(index))}]`;
    value = index === undefined ? memberOf(value, key) : list[Number(index)];
    isHidden ||= !isShown(value);
  }
  return { text, isHidden, value, last };
}

function nameIn(list: readonly unknown[], index: number): string {
  const id = memberOf(list[index], 'id') ?? memberOf(list[index], 'from');
  if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id;
  return `${list.slice(0, index).filter(isShown).length}`;
}

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;

/** Of a panel the number is the key, of a camera it is the member `zone`. */
function zonePlaceOf(config: unknown, { value, last }: Place): string | undefined {
  const number = last === 'zone' ? value : last;
  const find = (node: unknown, path: Path): string | undefined => {
    if (typeof node !== 'object' || node === null || !isShown(node)) return undefined;
    if (memberOf(node, 'zone') === number) return shownText(config, [...path, 'zone']);
    for (const [key, member] of Object.entries(node)) {
      const found = find(member, [...path, Array.isArray(node) ? Number(key) : key]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find({ cameras: memberOf(config, 'cameras'), nvrs: memberOf(config, 'nvrs') }, []);
}

const shownText = (config: unknown, path: Path): string =>
  lookedUp(config, path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${part}`)).join('')).text;
