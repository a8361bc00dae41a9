import esriConfig from "@arcgis/core/config.js";
import { whenOnce } from "@arcgis/core/core/reactiveUtils.js";
import FeatureLayer from "@arcgis/core/layers/FeatureLayer.js";
import Map from "@arcgis/core/Map.js";
import MapView from "@arcgis/core/views/MapView.js";

// draw shows the layers of points and of areas, and returns for each how many features the SDK drew, counted and framed.
window.draw = async server => {
	esriConfig.assetsPath = "/assets";
	const layers = [0, 1].map(n => new FeatureLayer({ url: `${server}/${n}`, outFields: ["*"] }));
	const view = new MapView({ container: "view", map: new Map({ layers: layers.toReversed() }), center: [10, 50], scale: 40_000_000 });
	await view.when();
	const found = {};
	for (const layer of layers) {
		const shown = await view.whenLayerView(layer);
		await whenOnce(() => !shown.updating);
		const { count, extent } = await layer.queryExtent();
		found[layer.layerId] = { drawn: await shown.queryFeatureCount(), counted: await layer.queryFeatureCount(), count, xmin: extent.xmin };
	}
	await view.goTo({ center: [10, 42], scale: 2_000_000 }, { animate: false });
	await whenOnce(() => !view.updating);
	return found;
};

// pixels counts the pixels of a picture that have the color of each severity.
window.pixels = async png => {
	const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
	const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
	canvas.drawImage(picture, 0, 0);
	const { data } = canvas.getImageData(0, 0, picture.width, picture.height);
	const count = color => {
		let n = 0;
		for (let i = 0; i < data.length; i += 4) n += color.every((c, k) => Math.abs(data[i + k] - c) < 12);
		return n;
	};
	return { WARNING: count([255, 0, 0]), WATCH: count([255, 255, 0]), ADVISORY: count([0, 255, 0]) };
};
