/** A component whose code is loaded when it is shown for the first time. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { strings } from '../strings.ts';

type Loaded<Props> = { readonly View: ComponentType<Props> } | { readonly failed: true };

/**
 * `load` is called once; after a failure the user can reload the page. `waiting`: shown meanwhile;
 * null for a part that the page can do without.
 */
export const lazy = <Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: ComponentChildren = <p class="loading">{strings.loading}</p>,
): ComponentType<Props> => {
  let known: Loaded<Props> | undefined;
  return (props: Props) => {
    const [loaded, setLoaded] = useState(known);
    const read = () => {
      setLoaded(undefined);
      load().then(
        (View) => {
          known = { View };
          setLoaded(known);
        },
        () => setLoaded({ failed: true }),
      );
    };
    useEffect(() => {
      if (known === undefined) read();
    }, []);
    if (loaded === undefined) return <>{waiting}</>;
    if ('View' in loaded) return <loaded.View {...props} />;
    if (waiting === null) return null;
    return (
      <p class="trouble failed" role="alert">
        {strings.notLoaded}{' '}
        <button type="button" class="quiet" onClick={() => location.reload()}>
          {strings.reload}
        </button>
      </p>
    );
  };
};
