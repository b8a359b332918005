import type { HeldDevice, WantedDevice } from './types.ts';

/** A device as the list of the cloud shows it; every member but the id may be missing. */
export interface CloudDevice {
  readonly device_id: string;
  readonly external_device_id?: string;
  readonly device_type?: string;
  readonly name?: string;
  readonly zone_number?: string;
  readonly additional_zone_numbers?: string;
  readonly mac?: string;
  readonly manufacturer?: string;
  readonly model?: string;
  readonly serial_number?: string;
}

/** What is known from before of the one of ours it is kept under. */
export interface KnownDevice {
  readonly id: string;
  /** The external id the cloud has it under: not ours where it was found by MAC or serial number. */
  readonly as?: string;
}

export interface Matches {
  /** By external id of ours. */
  readonly found: ReadonlyMap<string, CloudDevice>;
  /** Of ours that the cloud has not. */
  readonly missing: readonly WantedDevice[];
  readonly conflicts: readonly HeldDevice[];
  /** Rows that are none of ours. Those a conflict is about are among them: nobody touches them. */
  readonly others: readonly CloudDevice[];
  /** Ids of rows a conflict is about. */
  readonly disputed: ReadonlySet<string>;
}

/** Twelve hexadecimal digits; undefined for what is no address of one device. */
export function macKey(mac: string | undefined): string | undefined {
  const digits = mac?.toLowerCase().replaceAll(/[\s:.-]/g, '');
  return digits !== undefined && /^[0-9a-f]{12}$/.test(digits) && !/^(?:0{12}|f{12})$/.test(digits)
    ? digits
    : undefined;
}

/**
 * The rows of a list, those of one id as one: a service that goes through its list page by page may show one device twice. Undefined where they
 * say it is two devices of different external ids.
 */
export function oneRowEach<R extends CloudDevice>(rows: readonly R[]): readonly R[] | undefined {
  const each = new Map<string, R>();
  for (const row of rows) {
    const { device_id: id, external_device_id: external } = row;
    const before = each.get(id);
    if ((before?.external_device_id ?? external) !== (external ?? before?.external_device_id)) return undefined;
    each.set(id, { ...row, ...before });
  }
  return [...each.values()];
}

type Rule = (device: WantedDevice, row: CloudDevice) => boolean;

/**
 * Finds each device of ours among those of the cloud: by the id it is known to have there, by its external id, by MAC, by serial
 * number, in this order. Where several could be it, or one could be several of ours, nothing is
 * decided.
 */
export function matchDevices(
  wanted: readonly WantedDevice[],
  rows: readonly CloudDevice[],
  known: Pick<ReadonlyMap<string, KnownDevice>, 'get'>,
): Matches {
  const found = new Map<string, CloudDevice>();
  const conflicts: HeldDevice[] = [];
  const disputed = new Set<string>();
  const ours = new Set(wanted.map(({ external_device_id }) => external_device_id));
  const hold = (id: string, message: string, about: readonly CloudDevice[]) => {
    conflicts.push({ external_id: id, kind: 'device', reason: 'conflict', message });
    for (const { device_id } of about) disputed.add(device_id);
  };

  let open = unique(wanted, (id) => hold(id, 'the configuration has two devices of this id', []));
  const hasId: Rule = ({ external_device_id: id }, row) => row.external_device_id === id;
  // A row under another external id than before is another device, and one that bears the id of one of ours is that one.
  const isKnown: Rule = ({ external_device_id: id }, row) => {
    const before = known.get(id);
    const { external_device_id: as } = row;
    return before?.id === row.device_id && before.as === as && (as === id || !ours.has(as ?? ''));
  };

  open = open.filter((device) => {
    const about = rows.filter((row) => isKnown(device, row) || hasId(device, row));
    const [only] = about;
    if (only === undefined) return true;
    if (about.length > 1) hold(device.external_device_id, several('this external id', about), about);
    else if ((only.device_type ?? device.device_type) !== device.device_type)
      hold(
        device.external_device_id,
        `device ${only.device_id} of the cloud has this external id and is a ${only.device_type}, which cannot be changed; delete it there, or give another id here`,
        about,
      );
    else found.set(device.external_device_id, only);
    return false;
  });

  for (const [word, rule] of [
    ['this MAC', sameMac],
    ['this serial number', sameSerial],
  ] as const) {
    const claimed = new Set([...found.values()].map(({ device_id }) => device_id));
    const free = rows.filter(
      ({ device_id, external_device_id }) =>
        !claimed.has(device_id) && !disputed.has(device_id) && !ours.has(external_device_id ?? ''),
    );
    const pairs = open.map((device) => ({ device, about: free.filter((row) => rule(device, row)) }));
    open = pairs.flatMap(({ device, about }) => {
      const [only] = about;
      if (only === undefined) return [device];
      const { external_device_id: id } = device;
      const rivals = pairs.filter((other) => other.about.includes(only)).length;
      if (about.length > 1) hold(id, several(word, about), about);
      else if (rivals > 1)
        hold(
          id,
          `device ${only.device_id} of the cloud has ${word}, and so have ${rivals} devices of this site`,
          about,
        );
      else found.set(id, only);
      return [];
    });
  }
  const claimed = new Set([...found.values()].map(({ device_id }) => device_id));
  const others = rows.filter(({ device_id }) => !claimed.has(device_id));
  return { found, missing: open, conflicts, others, disputed };
}

const sameMac: Rule = (device, row) =>
  sameKind(device, row) && macKey(device.mac) !== undefined && macKey(device.mac) === macKey(row.mac);

/** Two makers may give one number. */
const sameSerial: Rule = (device, row) => {
  const serial = plain(device.serial_number);
  const [maker, other] = [plain(device.manufacturer), plain(row.manufacturer)];
  return (
    sameKind(device, row) &&
    serial !== '' &&
    serial === plain(row.serial_number) &&
    (maker === other || maker === '' || other === '') &&
    (macKey(device.mac) ?? macKey(row.mac)) === (macKey(row.mac) ?? macKey(device.mac))
  );
};

const sameKind: Rule = (device, row) => (row.device_type ?? device.device_type) === device.device_type;
const plain = (text: string | undefined): string => (text ?? '').trim().toLowerCase();

const several = (what: string, rows: readonly CloudDevice[]): string =>
  `devices ${rows
    .map(({ device_id }) => device_id)
    .slice(0, 10)
    .join(', ')} of the cloud could be it: they have ${what}, or are known by it; delete there what is too many`;

function unique(wanted: readonly WantedDevice[], twice: (id: string) => void): readonly WantedDevice[] {
  const count = new Map<string, number>();
  for (const { external_device_id: id } of wanted) count.set(id, (count.get(id) ?? 0) + 1);
  for (const [id, times] of count) if (times > 1) twice(id);
  return wanted.filter(({ external_device_id: id }) => count.get(id) === 1);
}
