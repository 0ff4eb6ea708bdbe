package data
import ("testing";"fmt";"image";"image/png";"image/color";"os";"time")
func TestTmp(t *testing.T){
 t0:=time.Now(); s:=Synthetic(1,60000,10000); fmt.Println(time.Since(t0))
 sum,sq:=0.0,0.0; for _,b:=range s.Train.Images{v:=float64(b)/255;sum+=v;sq+=v*v}; n:=float64(len(s.Train.Images)); fmt.Println("mean",sum/n, sq/n)
 im:=image.NewGray(image.Rect(0,0,30*30,36*30))
 for r:=0;r<36;r++{for c:=0;c<30;c++{ sp:=s.Train; if r>=18{sp=s.Test}; p:=sp.Image(r*30+c)
  for y:=0;y<28;y++{for x:=0;x<28;x++{im.SetGray(c*30+x,r*30+y,color.Gray{p[y*28+x]})}}}}
 o,_:=os.Create("/tmp/sheet.png"); png.Encode(o,im); o.Close()
}
