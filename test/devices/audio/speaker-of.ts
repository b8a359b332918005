import { type SpeakerOptions, speakerOptions } from '#devices/audio/options.ts';

/** A speaker of these options, checked as those of a configuration; without a password. */
export function speakerOf(options: object): SpeakerOptions {
  const { password, ...rest } = speakerOptions.parse(options);
  if (password !== undefined) throw new TypeError('its password is not resolved');
  return rest;
}
