import type { ConfigDocument } from './document.ts';
import { at, items, panelZones } from './entries.ts';
import type { Problem } from './problem.ts';

/** What each part of `supervision:` is about; written for something that is not there, it has no effect. */
export function supervisionChecks(document: ConfigDocument): Problem[] {
  const there: Readonly<Record<string, boolean>> = {
    cloud: at(document, ['cloud']).value !== undefined,
    panels: items(document, 'panels').length > 0,
    mains: items(document, 'panels').length > 0,
    cameras: ['cameras', 'nvrs', 'speakers'].some((section) => items(document, section).length > 0),
  };
  const unused = Object.entries(there).flatMap(([part, isThere]) => {
    const path = ['supervision', part];
    if (isThere || at(document, path).value === undefined) return [];
    const what =
      part === 'cloud'
        ? 'a section cloud'
        : `an entry of ${part === 'mains' ? 'panels' : part === 'cameras' ? 'cameras, nvrs or speakers' : part}`;
    return [document.problem(path, { message: 'has no effect here', expected: `${what}, or leave this out` }, 'key')];
  });
  return [...unused, ...keySwitches(document)];
}

/** A key switch says nothing for weeks; nobody could tell its silence from its loss. */
function keySwitches(document: ConfigDocument): Problem[] {
  return panelZones(document).flatMap(({ path }) => {
    const type = at(document, [...path, 'type']).value;
    const isWired = typeof type === 'string' && type.startsWith('key_switch_');
    if (!isWired || at(document, [...path, 'supervised']).value === undefined) return [];
    const place = [...path, 'supervised'];
    return [document.problem(place, { message: 'a key switch is silent by nature; it cannot be supervised' }, 'key')];
  });
}
