/** Texts about images that are added and files that are downloaded. Loaded with them. */
import { language } from '../strings.ts';

const english = {
  notAnImage: (name: string) =>
    `${name} was not added: only PNG, JPEG, GIF and WebP images are supported`,
  imageTooLarge: (name: string, size: string, most: string) =>
    `${name} was not added: it has ${size}, the limit of an image is ${most}`,
  imagesTooLarge: (name: string, most: string) =>
    `${name} was not added: the limit of all images of a message is ${most}`,
  tooManyImages: (name: string, most: number) =>
    `${name} was not added: the limit of a message is ${most} images`,
  removeImage: (name: string) => `Remove ${name}`,
  notRead: (name: string) => `${name} could not be read`,
  download: (name: string, size: string) => `Download ${name} (${size})`,
  notDownloaded: (name: string, status: number) =>
    `${name} was not downloaded: the gateway answered ${status}`,
};

const vietnamese: typeof english = {
  notAnImage: (name) => `Không thêm ${name}: chỉ hỗ trợ hình PNG, JPEG, GIF và WebP`,
  imageTooLarge: (name, size, most) =>
    `Không thêm ${name}: hình có dung lượng ${size}, mỗi hình tối đa ${most}`,
  imagesTooLarge: (name, most) =>
    `Không thêm ${name}: tổng dung lượng hình của một tin nhắn tối đa ${most}`,
  tooManyImages: (name, most) => `Không thêm ${name}: một tin nhắn có tối đa ${most} hình`,
  removeImage: (name) => `Bỏ ${name}`,
  notRead: (name) => `Không đọc được ${name}`,
  download: (name, size) => `Tải ${name} (${size})`,
  notDownloaded: (name, status) => `không tải được ${name}: gateway trả lời ${status}`,
};

export const fileStrings = language === 'vi' ? vietnamese : english;
