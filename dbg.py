import numpy as np, fastpsr as fp, sys
sys.path.insert(0,'.')
from tests.test_calibration_in_parts import *
data,cols=make("posteriors",240,"none","infinite")
print(np.isnan(data.scores).sum(), data.score_range)
p=cut(data,cols)
for d in p:
    print(len(d), np.isnan(d.scores).any(), d.score_range if len(d) else None)
for nm,(t,tp) in trains(cols).items():
    for src,tt in ((data,t),(p,tp)):
        try: fp.cross_fit(fp.DirectionPreserving(),src,tt); print(nm,'ok')
        except ValueError as e: print(nm,src,e)
