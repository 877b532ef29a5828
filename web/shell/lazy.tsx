/** A component whose code is loaded when it is shown for the first time. */
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { strings } from '../strings.ts';

type Loaded<Props> = { readonly View: ComponentType<Props> } | { readonly failed: true };

/**
 * `waiting` is shown until the code is loaded. After a failure the user can reload the page, except
 * for a part that the page can do without: null, or a function that shows the same more simply.
 */
export const lazy = <Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: ComponentChildren | ((props: Props) => ComponentChildren) = (
    <p class="loading">{strings.loading}</p>
  ),
): ComponentType<Props> => {
  let known: Loaded<Props> | undefined;
  let loading: Promise<ComponentType<Props>> | undefined;
  return (props: Props) => {
    const [loaded, setLoaded] = useState(known);
    useEffect(() => {
      // It may have been loaded since the first rendering.
      if (known !== undefined) return setLoaded(known);
      // One promise for all, so that they are drawn together.
      loading ??= load();
      loading.then(
        (View) => {
          known = { View };
          setLoaded(known);
        },
        () => {
          loading = undefined;
          setLoaded({ failed: true });
        },
      );
    }, []);
    if (loaded !== undefined && 'View' in loaded) return <loaded.View {...props} />;
    if (typeof waiting === 'function') return <>{waiting(props)}</>;
    if (loaded === undefined || waiting === null) return <>{waiting}</>;
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
