/**
 * The images of a message that is being written, which can be removed one by one, and their limit.
 * Loaded with the first one.
 */
import type { SentImage } from './conversation.ts';
import { fileStrings } from './file-strings.ts';
import { imageLimits } from './image-limits.ts';

export const AttachedImages = (props: {
  images: readonly SentImage[];
  onChange: (images: readonly SentImage[]) => void;
}) => {
  const { images, onChange } = props;
  return (
    <>
      <ul class="images">
        {images.map((image, at) => (
          <li key={at}>
            <img src={`data:${image.mimeType};base64,${image.content}`} alt={image.fileName} />
            <button
              type="button"
              aria-label={fileStrings.removeImage(image.fileName)}
              onClick={() => onChange(images.filter((each) => each !== image))}
            >
              ×
            </button>
          </li>
        ))}
      </ul>
      <p class="muted">{imageLimits()}</p>
    </>
  );
};
