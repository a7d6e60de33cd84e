package channel

// The names that the external tests use.
const (
	BySentence  = strategyBySentence
	ByWord      = strategyByWord
	GSM7        = encodingGSM7
	NoIndicator = noIndicator
	Prefix      = indicatorPrefix
	Suffix      = indicatorSuffix
	UCS2        = encodingUCS2
)

var (
	FeatureNames = featureNames
	FeaturesOf   = featuresOf
)
