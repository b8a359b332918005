import type { HeldDevice } from '#cloud/sync/index.ts';

/** What to do about a device that is held. */
export const heldAdvice: Readonly<Record<HeldDevice['reason'], string>> = {
  refused:
    'Change what it names, in the configuration or in the cloud; a change here is tried by itself, otherwise: siteward device sync --again',
  conflict:
    'Several devices of the cloud could be it. Delete or change the wrong one there ("siteward device list"), then: siteward device sync --again',
  waiting: 'Nothing to do: it is tried again by itself.',
  unknown:
    'Look for the recorder in the console of the service. Where it is there, write its id as cloud_nvr_id of the recorder into the configuration; where it is not: siteward nvr sync --register-lost',
};
