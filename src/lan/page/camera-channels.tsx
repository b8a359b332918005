import type { InspectedCamera } from '#lan/http/index.ts';
import { type ChannelWish, channelsOf } from './camera-entry.ts';
import { PlaceFields } from './camera-fields.tsx';
import { useWords } from './context.ts';
import { Field } from './parts.tsx';

/** The pictures of a recorder that are to be watched; each becomes a camera. */
export function CameraChannels(props: {
  asked: InspectedCamera | undefined;
  channels: readonly ChannelWish[];
  zones: ReadonlySet<string>;
  /** Of the recorder. */
  id: string;
  ids: ReadonlySet<string>;
  prefix: string;
  onChannels: (channels: readonly ChannelWish[]) => void;
}) {
  const { t } = useWords();
  const { asked, channels, zones, id, ids, prefix, onChannels } = props;
  const replace = (source: string, next: Partial<ChannelWish>) =>
    onChannels(channels.map((one) => (one.source === source ? { ...one, ...next } : one)));
  const all = asked === undefined ? channels : channelsOf(id, asked, ids);
  return (
    <>
      {all.map((suggested) => {
        const { source } = suggested;
        const channel = channels.find((one) => one.source === source);
        const others = channels.filter((one) => one.source !== source);
        const own = `${prefix}-${source.replaceAll(/\W+/g, '-')}`;
        return (
          <fieldset key={source}>
            <legend>{t('setup.channel', { id: source })}</legend>
            <label class="check">
              <input
                type="checkbox"
                checked={channel !== undefined}
                onChange={() => onChannels(channel === undefined ? [...channels, suggested] : others)}
              />{' '}
              {t('setup.watch')}
            </label>
            {channel !== undefined && (
              <>
                <Field
                  {...{ name: `${own}-id`, label: t('setup.camera.id'), value: channel.id, autocomplete: 'off' }}
                  onInput={(value) => replace(source, { id: value })}
                />
                <PlaceFields
                  {...{ prefix: own, place: channel }}
                  taken={new Set([...zones, ...others.map(({ zone }) => zone)].filter((zone) => zone !== ''))}
                  onPlace={(place) => replace(source, place)}
                />
              </>
            )}
          </fieldset>
        );
      })}
    </>
  );
}
