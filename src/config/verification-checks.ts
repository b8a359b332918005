import type { ConfigDocument } from './document.ts';
import { valueAt } from './issues.ts';
import type { Path, Problem } from './problem.ts';

/**
 * Who answers alarm verifications: an entry that could never count is told, since nobody would learn of it before an
 * alarm. A `user` may stand in the list on the box, which is not looked at here.
 */
export function verificationChecks(document: ConfigDocument): Problem[] {
  const at = (...path: Path) => valueAt(document.value, path);
  const list = at('verification', 'contacts');
  const entries = Array.isArray(list) ? list.map((_, index): Path => ['verification', 'contacts', index]) : [];
  if (entries.length === 0) return [];
  return [
    ...unsendable(document, at),
    ...entries.flatMap((path) => [...repeated(document, entries, path), ...client(document, path)]),
  ];
}

type At = (...path: Path) => unknown;

/** Answers go to the partner interface, under the dealer of the site (S-150). */
function unsendable(document: ConfigDocument, at: At): Problem[] {
  const path: Path = ['verification', 'contacts'];
  const missing = [
    ...(at('cloud', 'partner') === undefined ? ['cloud.partner'] : []),
    ...(at('site', 'dealer_id') === undefined ? ['site.dealer_id'] : []),
  ];
  return missing.map((key) =>
    document.problem(
      path,
      { message: `has no effect without ${key}`, expected: `${key}, under which answers are sent` },
      'key',
    ),
  );
}

function repeated(document: ConfigDocument, entries: readonly Path[], path: Path): Problem[] {
  return ['user', 'client'].flatMap((member) => {
    const name = valueAt(document.value, [...path, member]);
    const first = entries.find((other) => valueAt(document.value, [...other, member]) === name);
    if (typeof name !== 'string' || first === path) return [];
    return [
      document.problem([...path, member], {
        message: `this ${member} has a contact already`,
        expected: 'one contact each',
      }),
    ];
  });
}

/** Only the embedded broker proves who publishes, and only a guard may answer. */
function client(document: ConfigDocument, entry: Path): Problem[] {
  const path = [...entry, 'client'];
  const name = valueAt(document.value, path);
  if (typeof name !== 'string') return [];
  const broker = valueAt(document.value, ['mqtt', 'broker']) ?? 'embedded';
  if (broker !== 'embedded') {
    const expected = 'a user with a code; an external broker does not tell who publishes';
    return [document.problem(path, { message: 'has no effect with an external broker', expected })];
  }
  const clients = valueAt(document.value, ['mqtt', 'clients']);
  const found = (Array.isArray(clients) ? clients : []).find((one) => (one as { id?: unknown } | null)?.id === name);
  const expected = 'a client of mqtt.clients with the role guard';
  if (found === undefined) return [document.problem(path, { message: 'there is no such client', expected })];
  if ((found as { role?: unknown }).role === 'guard') return [];
  return [document.problem(path, { message: 'this client has another role', expected })];
}
