import type { ConfigDocument } from './document.ts';
import { at, duplicateIds, idsOf, inputZones, items, panelZones, unknownNames, views } from './entries.ts';
import type { Problem } from './problem.ts';

/** Speakers name partitions and zones of the site. */
export function speakerChecks(document: ConfigDocument): Problem[] {
  const speakers = items(document, 'speakers');
  const partitions = speakers.flatMap(({ path }) => items(document, ...path, 'partitions'));
  const zones = speakers.map(({ path }) => at(document, [...path, 'zone']));
  return [
    ...duplicateIds(document, 'speakers'),
    ...unknownNames(document, partitions, 'partition', idsOf(document, 'partitions')),
    ...unknownNames(document, zones, 'zone', zoneNumbers(document)),
  ];
}

function zoneNumbers(document: ConfigDocument): string[] {
  const ofPanels = panelZones(document).map(({ path }) => path.at(-1));
  const ofCameras = [...views(document), ...inputZones(document)].map(
    ({ path }) => at(document, [...path, 'zone']).value,
  );
  return [...ofPanels, ...ofCameras].filter((number) => typeof number === 'string');
}
