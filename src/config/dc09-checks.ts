import { dc09Profile } from '#devices/panels/options.ts';
import type { ConfigDocument } from './document.ts';
import { at, type Entry, items, members, repeated } from './entries.ts';
import type { Problem } from './problem.ts';
import type { Settings } from './schema.ts';

const bridgeKeys = ['vars', 'overrides', 'stale_after', 'code'] as const;

/** Panels that call by SIA DC-09 and the receiver belong together; what only a bridge can do has no effect with them. */
export function dc09Checks(document: ConfigDocument): Problem[] {
  const panels = items(document, 'panels');
  const isCalling = ({ path }: Entry) => at(document, [...path, 'profile']).value === dc09Profile;
  const calling = panels.filter(isCalling);
  const receiver = at(document, ['dc09']);
  const noUse = { message: 'has no effect here', expected: `a panel with profile: ${dc09Profile}, or leave this out` };
  const unused = [
    ...(receiver.value !== undefined && calling.length === 0 ? [receiver] : []),
    ...panels.filter((panel) => !isCalling(panel)).map(({ path }) => at(document, [...path, 'dc09'])),
  ].filter(({ value }) => value !== undefined);
  return [
    ...unused.map(({ path }) => document.problem(path, noUse, 'key')),
    ...calling.flatMap((panel) => ofPanel(document, panel, receiver)),
    ...sameAccounts(document, calling),
  ];
}

/** What is no mistake and yet dangerous: whoever reaches the receiver can say that the site was opened. */
export const unkeyed = ({ panels }: Settings): readonly string[] =>
  panels
    .filter(({ profile, dc09 }) => profile === dc09Profile && dc09?.key === undefined)
    .map(({ id, dc09 }) =>
      dc09?.from === undefined
        ? `panel ${id}: without dc09.key and dc09.from anybody on the network can report an opening of it (docs/panels.md)`
        : `panel ${id}: without dc09.key whoever takes an address of dc09.from can report an opening of it (docs/panels.md)`,
    );

function ofPanel(document: ConfigDocument, { path }: Entry, receiver: Entry): Problem[] {
  const idle = [
    ...bridgeKeys.map((key) => at(document, [...path, key])),
    ...members(document, [...path, 'zones']).map((zone) => at(document, [...zone.path, 'supervised'])),
  ].filter(({ value }) => value !== undefined);
  return [
    ...(receiver.value === undefined
      ? [
          document.problem([...path, 'profile'], {
            message: 'nothing listens for this panel',
            expected: 'a section dc09: { listen: 0.0.0.0:5010 }',
          }),
        ]
      : []),
    ...(at(document, [...path, 'dc09']).value === undefined
      ? [document.problem([...path, 'dc09'], { message: 'is missing', expected: 'dc09: { account: "1234" }' })]
      : []),
    ...idle.map((entry) =>
      document.problem(entry.path, { message: `has no effect with profile ${dc09Profile}; leave it out` }, 'key'),
    ),
  ];
}

/** A frame says nothing but its account. */
function sameAccounts(document: ConfigDocument, calling: readonly Entry[]): Problem[] {
  const accounts = calling.map(({ path }) => {
    const entry = at(document, [...path, 'dc09', 'account']);
    return { ...entry, value: typeof entry.value === 'string' ? entry.value.toUpperCase() : undefined };
  });
  return repeated(accounts).map(({ path }) =>
    document.problem(path, { message: 'another panel has this account', expected: 'each account once' }),
  );
}
