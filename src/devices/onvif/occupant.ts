import { SitewardError } from '#errors.ts';
import type { DeviceRef, Signal } from '#site/model/index.ts';
import type { CameraWarning, OtherDevice } from './camera.ts';
import type { Device } from './device.ts';
import type { DeviceInformation } from './reads.ts';
import { isOwnSerial } from './serial.ts';
import { ns } from './soap.ts';

/** The device of a place, as it names itself. */
export interface Known {
  readonly maker: string;
  readonly model: string;
  readonly serial: string;
  /** Tells a renamed model from another one, where no serial number does. */
  readonly firmware?: string;
  /** It wanted a password before it told this. */
  readonly guarded?: true;
  /** By it the device is recognised at another address, also by who has no password. */
  readonly mac?: string;
}

/**
 * Notices that another device answers at the address of one. No proof of which it is: whoever wants to can name himself the
 * same, and some makers give all devices one serial number; what proves it is the certificate of an https camera.
 */
export interface Occupant {
  /** What earlier runs remembered, read at last: it wins over what was believed without it. */
  use(known: Known | undefined): void;
  /** It has named itself. `before`: whether it took the password before it was asked; `wasAway`: since it last did. */
  named(
    information: DeviceInformation,
    how: { readonly before: boolean | undefined; readonly wasAway: boolean },
    signal: AbortSignal,
  ): Promise<void>;
  readonly known: Known | undefined;
  /** The device that answers has told its MAC. */
  macRead(mac: string): void;
  /** Another device answers, in words. */
  readonly other: string | undefined;
  warnings(): readonly CameraWarning[];
  /** The trouble, or its end; told again with each connection, since the site may have been told by an earlier run. */
  news(): readonly Signal[];
  /** The device that answers, while it is not who it was, or takes no password any more. */
  readonly doubted: OtherDevice | undefined;
  /** A person says that the device of this name is meant. Throws `camera_refused` when it is not the one that answers. */
  trust(name: string): void;
}

export function createOccupant(source: DeviceRef, device: Device): Occupant {
  let known: Known | undefined;
  let present: Known | undefined;
  let isOther = false;
  let isOpen = false;
  /** It is known what earlier runs remembered. */
  let isRead = false;
  const words = (): string | undefined =>
    isOther && known !== undefined && present !== undefined
      ? `another device answers here: was ${nameOf(known)}, is ${nameOf(present)}; "siteward camera trust ${source.id}" if that is meant, "siteward camera replace ${source.id} ADDRESS" if the right one has another address now`
      : undefined;

  /** Only of a device that did not before: a question without a password costs no try. */
  async function tellsAnybody(signal: AbortSignal): Promise<boolean> {
    const name = 'GetDeviceInformation';
    const body = `<d:${name} xmlns:d="${ns.device}"/>`;
    const call = { name, action: `${ns.device}/${name}`, body, timeoutMs: 10_000, open: true, signal };
    return device.call(call).then(
      () => true,
      () => false,
    );
  }

  function take(one: Known): void {
    const { guarded, firmware = known?.firmware, mac = known?.mac } = one;
    known = {
      maker: one.maker || (known?.maker ?? ''),
      model: one.model || (known?.model ?? ''),
      serial: one.serial || (known?.serial ?? ''),
      ...(firmware !== undefined && { firmware }),
      ...((guarded ?? known?.guarded) && { guarded: true }),
      ...(mac !== undefined && { mac }),
    };
  }

  return {
    use(found) {
      isRead = true;
      if (found === undefined) return;
      known = found;
      isOther = present !== undefined && differ(found, present);
    },
    async named({ manufacturer, model, serial, firmware }, { before, wasAway }, signal) {
      const one: Known = {
        maker: plain(manufacturer),
        model: plain(model),
        serial: plain(serial),
        firmware: plain(firmware),
      };
      if (nameOf(one) === '') return;
      const isFirst = before === undefined;
      const wantsNone = isFirst
        ? device.account.wasAccepted('events') === undefined
        : known?.guarded === true && (differ(known, one) || wasAway || isOpen) && (await tellsAnybody(signal));
      // After the wait, and in one step: a person may have trusted another one meanwhile.
      isOther = known !== undefined && differ(known, one);
      isOpen = known?.guarded === true && wantsNone;
      present = { ...one, ...(isFirst && device.account.wasAccepted('events') === true && { guarded: true }) };
      if (!isOther) take(present);
    },
    get known() {
      return known;
    },
    macRead(mac) {
      if (present === undefined) return;
      present = { ...present, mac };
      if (!isOther) take(present);
    },
    get other() {
      return words();
    },
    warnings() {
      const other = words();
      return [
        ...(other === undefined ? [] : [{ code: 'other_device' as const, text: other }]),
        ...(isOpen ? [{ code: 'no_password' as const, text: openText }] : []),
      ];
    },
    news() {
      // No end while it may be another one: by what is not read yet, or as long as it does not name itself.
      const nobodyNamed = present === undefined && known !== undefined;
      if (!isOther && (!isRead || nobodyNamed)) return [];
      const detail = words();
      const about = { kind: 'trouble', source, trouble: 'tamper', replay: false } as const;
      return [{ ...about, active: isOther, ...(detail !== undefined && { detail }) }];
    },
    get doubted() {
      if (known === undefined || present === undefined || (!isOther && !isOpen)) return undefined;
      return { was: nameOf(known), is: nameOf(present) };
    },
    trust(name) {
      if (present === undefined || nameOf(present) !== name) {
        const is = present === undefined ? 'no device' : nameOf(present);
        throw new SitewardError('camera_refused', `What answers at ${source.id} is ${is}, not ${name}; look again`);
      }
      // In place of a guarded device it was asked without a password when it named itself.
      known = { ...present, ...(known?.guarded && !isOpen && { guarded: true }) };
      isRead = true;
      isOther = false;
      isOpen = false;
    },
  };
}

const openText =
  'It tells everything without a password, and wanted one before: perhaps another device, or one that was reset. Give it a user and password; "siteward camera trust" if that is meant';

/** What a device is called where it may be another than before. */
export const deviceName = ({ manufacturer, model, serial }: Omit<DeviceInformation, 'firmware'>): string =>
  nameOf({ maker: plain(manufacturer), model: plain(model), serial: plain(serial) });

const nameOf = ({ maker, model, serial }: Known): string =>
  [maker, model, serial && `serial ${serial}`].filter((part) => part !== '').join(' ');

const plain = (text: string): string =>
  text
    .replace(/\p{C}+/gu, ' ')
    .trim()
    .slice(0, 60);

/**
 * What says nothing is no difference. Firmware changes the name of a model, but not that of the maker with it; without a
 * serial number, whoever has another model and the same firmware is another.
 */
function differ(one: Known, other: Known): boolean {
  const unlike = (key: 'maker' | 'model') =>
    one[key] !== '' && other[key] !== '' && one[key].toLowerCase() !== other[key].toLowerCase();
  if (!isOwnSerial(one.serial) || !isOwnSerial(other.serial)) {
    const isUpdated = one.firmware !== undefined && other.firmware !== undefined && one.firmware !== other.firmware;
    return unlike('maker') || (unlike('model') && !isUpdated);
  }
  return one.serial !== other.serial || (unlike('maker') && unlike('model'));
}
