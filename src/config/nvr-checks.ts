import type { ConfigDocument } from './document.ts';
import { at, type Entry, items, repeated, views } from './entries.ts';
import type { Problem } from './problem.ts';

/** As many pictures as one bridge is measured for. */
const viewCap = 64;

/** Recorders and their channels: a channel is a camera, so they share one name space and one bound. */
export function nvrChecks(document: ConfigDocument): Problem[] {
  const nvrs = items(document, 'nvrs');
  return [...names(document, nvrs), ...tooMany(document), ...nvrs.flatMap((nvr) => twice(document, nvr))];
}

function names(document: ConfigDocument, nvrs: readonly Entry[]): Problem[] {
  const ids = [...views(document), ...nvrs].map(({ path }) => at(document, [...path, 'id']));
  const expected = 'a name of its own for each camera, recorder and channel';
  return repeated(ids).map(({ path }) =>
    document.problem(path, { message: 'another camera, recorder or channel has this id', expected }),
  );
}

function tooMany(document: ConfigDocument): Problem[] {
  const over = views(document)[viewCap];
  if (over === undefined) return [];
  const expected = `at most ${viewCap} cameras and channels together`;
  return [document.problem(over.path, { message: 'is one too many', expected })];
}

/** Two channels of one picture would make two alarms of one person. */
function twice(document: ConfigDocument, { path }: Entry): Problem[] {
  return (['source', 'position'] as const).flatMap((key) => {
    const named = items(document, ...path, 'channels').map((channel) => at(document, [...channel.path, key]));
    const texts = named.map((entry) => ({
      ...entry,
      value: typeof entry.value === 'number' ? `${entry.value}` : entry.value,
    }));
    return repeated(texts).map((entry) =>
      document.problem(entry.path, { message: `another channel of this recorder has this ${key}` }),
    );
  });
}
