import type { ConfigDocument } from './document.ts';
import { at, duplicateIds, type Entry, idsAmong, idsOf, items, unknownNames, views, zoneNumbersOf } from './entries.ts';
import type { Problem } from './problem.ts';

/** Speakers name partitions and zones of the site. */
export function speakerChecks(document: ConfigDocument): Problem[] {
  const speakers = items(document, 'speakers');
  const partitions = speakers.flatMap(({ path }) => items(document, ...path, 'partitions'));
  const zones = speakers.map(({ path }) => at(document, [...path, 'zone']));
  return [
    ...duplicateIds(document, 'speakers'),
    ...unknownNames(document, partitions, 'partition', idsOf(document, 'partitions')),
    ...unknownNames(document, zones, 'zone', zoneNumbersOf(document)),
    ...unknownNames(
      document,
      speakers.map(({ path }) => at(document, [...path, 'camera'])),
      'camera',
      idsAmong(document, views(document)),
    ),
    ...elsewhere(document, speakers),
    ...sameAccount(document, speakers),
  ];
}

/** Where a speaker on the network is sent to; those of one entry are one device. */
const addresses = [['url'], ['push', 'url'], ['trigger', 'url'], ['stop', 'url'], ['status', 'url']];

/** What proves the password of a camera goes to that camera alone, and one speaker is one device. */
function elsewhere(document: ConfigDocument, speakers: readonly Entry[]): Problem[] {
  const devices = cameraDevices(document);
  return speakers.flatMap(({ path }) => {
    const named = addresses
      .map((key) => at(document, [...path, ...key]))
      .filter(({ value }) => hostOf(value) !== undefined);
    const { value: camera } = at(document, [...path, 'camera']);
    const own = camera === undefined ? hostOf(named[0]?.value) : devices.find(({ ids }) => ids.includes(camera))?.host;
    const expected = camera === undefined ? 'the host of the other addresses' : 'the host of the camera';
    return named
      .filter(({ value }) => own !== undefined && hostOf(value) !== own)
      .map((entry) => document.problem(entry.path, { message: `is another device than ${own}`, expected }));
  });
}

/** Each account counts its wrong tries by itself, and many devices lock one after five, whoever made them. */
function sameAccount(document: ConfigDocument, speakers: readonly Entry[]): Problem[] {
  const ofCameras = cameraDevices(document).map(({ host, username }) => JSON.stringify([host, username]));
  const passwords = new Map<string, string>();
  return speakers.flatMap(({ path }) => {
    const user = at(document, [...path, 'username']);
    const [host] = addresses.flatMap((key) => hostOf(at(document, [...path, ...key]).value) ?? []);
    if (typeof user.value !== 'string' || host === undefined) return [];
    const account = JSON.stringify([host, user.value]);
    if (ofCameras.includes(account)) {
      const message = 'is the account of a camera at this address; wrong tries would count twice';
      return [
        document.problem(user.path, { message, expected: 'camera with its id, in place of username and password' }),
      ];
    }
    const password = at(document, [...path, 'password']);
    const shown = JSON.stringify(password.value) ?? '';
    const other = passwords.get(account);
    passwords.set(account, other ?? shown);
    if (other === undefined || other === shown) return [];
    const message = 'another speaker of this device and user has another password';
    return [document.problem(password.path, { message, expected: 'the same' })];
  });
}

/** Host and user of each camera and recorder, and what is named of it. */
function cameraDevices(document: ConfigDocument) {
  return (['cameras', 'nvrs'] as const).flatMap((section) =>
    items(document, section).map(({ path }) => {
      const channels = items(document, ...path, 'channels');
      const own = section === 'cameras' ? [at(document, [...path, 'id'])] : [];
      const ids: unknown[] = [...own, ...channels.map((one) => at(document, [...one.path, 'id']))].map(
        ({ value }) => value,
      );
      return {
        ids,
        host: hostOf(at(document, [...path, 'url']).value),
        username: at(document, [...path, 'username']).value,
      };
    }),
  );
}

const hostOf = (url: unknown): string | undefined =>
  typeof url === 'string' ? URL.parse(url)?.hostname.toLowerCase() : undefined;
